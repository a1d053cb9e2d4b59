"""DeepSeek-V3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sympy import Integer

from ..components.gated_mlp import GatedMLP
from ..components.latent_attention import LatentAttention
from ..components.lm_head import LMHead
from ..components.moe import MoE
from ..components.pre_norm_block import PreNormBlock
from ..components.rms_norm import RMSNorm
from ..components.token_embedding import TokenEmbedding
from ..language.sizes import AtMost, Divides
from ..language.symbols import A, D_nope, D_rope, D_v, E, H, K, L_dense, L_moe, M, R_kv, R_q, V, X, X_shared
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Architecture, Chance, Field, Fields, Function, Switch, Witness


@dataclass(frozen=True, kw_only=True)
class DeepSeekV3(Architecture):
    """DeepSeek-V3, DeepSeek-AI 2024 [deepseek2024b], section 2.1: latent attention; dense layers, then experts.

    The bias that balances the router is a buffer, not a trained weight, and the module that predicts further tokens
    is left out, as in transformers' class.

    >>> DeepSeekV3().formula("kv-cache")
    2*B*C*L_dense*R_kv + 2*B*C*L_dense*D_rope + 2*B*C*L_moe*R_kv + 2*B*C*L_moe*D_rope
    """

    title = "DeepSeek-V3"
    shapes = "tokens[B,S] -> logits[B,S,V]"
    constraints = (Divides(Integer(2), D_rope), AtMost(K, X))

    fields = Fields(
        {
            V: Field(("vocab_size",), 129280),
            E: Field(("hidden_size",), 7168),
            H: Field(("intermediate_size",), 18432),
            M: Field(("moe_intermediate_size",), 2048),
            X: Field(("n_routed_experts", "num_local_experts"), 256),
            X_shared: Field(("n_shared_experts",), 1),
            K: Field(("num_experts_per_tok",), 8),
            L_dense: Field(("first_k_dense_replace",), 3),
            L_moe: Field(("num_hidden_layers",), 61, beside=L_dense),
            A: Field(("num_attention_heads",), 128),
            R_q: Field(("q_lora_rank",), 1536),
            R_kv: Field(("kv_lora_rank",), 512),
            D_nope: Field(("qk_nope_head_dim",), 128),
            D_rope: Field(("qk_rope_head_dim",), 64),
            D_v: Field(("v_head_dim",), 128),
        },
        {
            "tied": Switch("tie_word_embeddings", False),
            "activation": Function("hidden_act", "silu"),
            "attention_dropout": Chance("attention_dropout", 0.0),
        },
        nullable={"query_latent": R_q},
        model_types=("deepseek_v3",),
        classes={"DeepseekV3ForCausalLM": {"head": "lm"}, "DeepseekV3Model": {"head": "none"}},
        restated={"num_key_value_heads": A, "head_dim": D_rope, "qk_head_dim": D_nope + D_rope},
        fixed={
            "norm_topk_prob": (True,),
            "output_router_logits": (False,),
            "moe_layer_freq": (1,),  # layers with experts are all that follow the dense ones
        },
        rotary=True,
        inert=(
            # positions are no table; how a linear layer was once cut for training; which elements make a pair
            *("max_position_embeddings", "pretraining_tp", "rope_interleave"),
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
        stacks={"dense_layers": L_dense, "moe_layers": L_moe},
        # Groups narrow the router's choice and change no size; with none, any number of experts will do.
        arguments={"num_key_value_heads": None, "n_group": 1, "topk_group": 1},
    )
    variants = ({}, {"query_latent": False}, {"tied": True}, {"head": "none"})

    head: Literal["lm", "none"] = "lm"
    tied: bool = False
    query_latent: bool = True
    activation: Activation = "silu"
    attention_dropout: bool = False

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = ops.call("embed_tokens", TokenEmbedding(), tokens)
        angles = ops.positions("rotary_emb", tokens.shape[1], D_rope, "rotary")
        moe = MoE(activation=self.activation, shared=GatedMLP(hidden=X_shared * M, activation=self.activation))
        dense = GatedMLP(activation=self.activation)
        dropped = "attention_dropout" if self.attention_dropout else ""
        for stack, count, mlp in (("dense_layers", L_dense, dense), ("moe_layers", L_moe, moe)):
            block = PreNormBlock(
                parts={
                    "input_layernorm": RMSNorm(),
                    "self_attn": LatentAttention(query_latent=self.query_latent, weight_dropout=dropped),
                    "post_attention_layernorm": RMSNorm(),
                    "mlp": mlp,
                }
            )
            x = ops.repeat(stack, count, block, x, angles)
        x = ops.call("norm", RMSNorm(), x)
        if self.head == "none":
            return x
        return ops.call("lm_head", LMHead(tied=self.tied), x, ops.weight("embed_tokens.weight"))
