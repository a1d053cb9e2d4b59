"""DeepSeek-V3."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, D_nope, D_rope, D_v, E, H, K, L_dense, L_moe, M, R_kv, R_q, V, X, X_shared
from .base_architecture import Field, Fields, WitnessSpec, usual
from .bases.latent import Latent

EXPERTS = {M: 2048, X: Field(("n_routed_experts", "num_local_experts"), 256), X_shared: 1, K: 8}
HEADS = {A: 128, R_q: 1536, R_kv: 512, D_nope: 128, D_rope: 64, D_v: 128}
DEPTHS = {L_dense: 3, L_moe: Field(("num_hidden_layers",), 61, beside=L_dense)}


@dataclass(frozen=True, kw_only=True)
class DeepSeekV3(Latent):
    """DeepSeek-V3, DeepSeek-AI 2024 [deepseek2024b], section 2.1: latent attention, and dense layers followed by layers
    with experts. As in the transformers class, the bias that balances the router is a buffer, which is not counted, and
    there is no module for multi-token prediction.

    >>> DeepSeekV3().formula("kv-cache")
    2*B*C*L*R_kv + 2*B*C*L*D_rope
    """

    title = "DeepSeek-V3"
    config = Fields(
        usual({V: 129280, E: 7168, H: 18432, **EXPERTS, **DEPTHS, **HEADS}),
        fixed={"norm_topk_prob": (True,)},
        inert=("rope_interleave",),  # which elements form a pair
    )
    # Groups limit the router's choice and do not affect any size. With one group, any number of experts is valid.
    witness = WitnessSpec("DeepseekV3", arguments={"num_key_value_heads": None, "n_group": 1, "topk_group": 1})
