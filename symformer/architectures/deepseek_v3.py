"""DeepSeek-V3."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, D_nope, D_rope, D_v, E, H, K, L_dense, L_moe, M, R_kv, R_q, V, X, X_shared
from .base import Field, Fields, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.latent import STACKS, Latent
from .bases.llama_like import OPTIONS

EXPERTS = {M: 2048, X: Field(("n_routed_experts", "num_local_experts"), 256), X_shared: 1, K: 8}
HEADS = {A: 128, R_q: 1536, R_kv: 512, D_nope: 128, D_rope: 64, D_v: 128}
DEPTHS = {L_dense: 3, L_moe: Field(("num_hidden_layers",), 61, beside=L_dense)}


@dataclass(frozen=True, kw_only=True)
class DeepSeekV3(Latent):
    """DeepSeek-V3, DeepSeek-AI 2024 [deepseek2024b], section 2.1: latent attention; dense layers, then experts.

    The bias that balances the router is a buffer, not a trained weight, and the module that predicts further tokens
    is left out, as in transformers' class.

    >>> DeepSeekV3().formula("kv-cache")
    2*B*C*L*R_kv + 2*B*C*L*D_rope
    """

    title = "DeepSeek-V3"
    fields = Fields(
        usual({V: 129280, E: 7168, H: 18432, **EXPERTS, **DEPTHS, **HEADS}),
        OPTIONS,
        nullable={"query_latent": R_q},
        model_types=("deepseek_v3",),
        classes=heads("DeepseekV3"),
        restated={"num_key_value_heads": A, "head_dim": D_rope, "qk_head_dim": D_nope + D_rope},
        fixed={
            "norm_topk_prob": (True,),
            "output_router_logits": (False,),
            "moe_layer_freq": (1,),  # layers with experts are all that follow the dense ones
        },
        rotary=True,
        inert=(
            # how a linear layer was once cut for training; which elements make a pair
            *(NO_TABLE, "pretraining_tp", "rope_interleave"),
            # which experts a token goes to, and not how many; the loss that balances them; where they stood
            *("n_group", "topk_group", "topk_method", "scoring_func", "routed_scaling_factor", "aux_loss_alpha"),
            *("seq_aux", "ep_size"),
            *("num_nextn_predict_layers", "num_mtp_layers"),  # a module that the class does not have
        ),
    )
    witness = Witness(
        "transformers",
        "DeepseekV3Config",
        prefix="model.",
        stacks=STACKS,
        # Groups narrow the router's choice and change no size; with none, any number of experts will do.
        arguments={"num_key_value_heads": None, "n_group": 1, "topk_group": 1},
    )
    variants = ({}, {"query_latent": False}, {"tied": True}, {"head": "none"})
