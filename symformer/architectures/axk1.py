"""A.X K1."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import MoE
from ..configs.sparse_attention_layers import CountedDenseLayers
from ..language.symbols import A, D_nope, D_rope, D_v, E, H, K, L_dense, L_moe, M, R_kv, R_q, V, X, X_shared
from .base_architecture import Field, Fields, WitnessSpec, usual
from .bases.latent import LatentExperts

EXPERTS = {M: 2048, X: Field(("n_routed_experts", "num_local_experts"), 192), X_shared: 1, K: 8}
HEADS = {A: 64, R_q: 1536, R_kv: 512, D_nope: 128, D_rope: 64, D_v: 128}
KINDS = {"dense": L_dense, "sparse": L_moe}


@dataclass(frozen=True, kw_only=True)
class AXK1(LatentExperts):
    """A.X K1, SK Telecom 2026 [skt2026]: DeepSeek-V3 with a norm on the output of the experts.

    >>> AXK1().formula("kv-cache")
    2*B*C*L*R_kv + 2*B*C*L*D_rope
    """

    title = "A.X K1"
    config = Fields(
        usual({V: 163840, E: 7168, H: 18432, **EXPERTS, **HEADS}),
        layers=CountedDenseLayers(KINDS, (), Field(("num_hidden_layers",), 61), "mlp_layer_types"),
        fixed={"norm_topk_prob": (True,)},
        inert=("rope_interleave",),  # which elements form a pair
        restated={"head_dim": D_rope},  # the rotary dimensions, unless a config states another width
        assumed={"num_key_value_heads": 64},
    )
    # With one group, any number of experts is valid.
    witness = WitnessSpec("AXK1", arguments={"num_key_value_heads": A, "n_group": 1, "topk_group": 1})

    @property
    def experts(self) -> MoE:
        return replace(super().experts, norm=self.norm)
