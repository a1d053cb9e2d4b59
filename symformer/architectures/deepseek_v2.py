"""DeepSeek-V2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components import MoE
from ..components.moe import SOFTMAX_IN_GROUPS
from ..language.sizes import Divides
from ..language.symbols import A, D_nope, D_rope, D_v, E, H, K, L_dense, L_moe, M, R_kv, R_q, V, X, X_shared
from ..ledger.facts import COMPLEX_ROTARY
from .base_architecture import Choice, Field, Fields, WitnessSpec, option, usual
from .bases.latent import Latent

EXPERTS = {M: 1407, X: Field(("n_routed_experts", "num_experts"), 64), X_shared: 2, K: None}
DEPTHS = {L_dense: None, L_moe: Field(("num_hidden_layers",), 32, beside=L_dense)}
HEADS = {A: 32, R_q: 1536, R_kv: 512, D_nope: 128, D_rope: 64, D_v: 128}


@dataclass(frozen=True, kw_only=True)
class DeepSeekV2(Latent):
    """DeepSeek-V2, DeepSeek-AI 2024 [deepseek2024], section 2: latent attention, and experts after the first layer.

    Its routing differs from DeepSeek-V3's, which does not affect any count. Its Lite form has no query latent.

    >>> DeepSeekV2().formula("kv-cache")
    2*B*C*L*R_kv + 2*B*C*L*D_rope
    """

    title = "DeepSeek-V2"
    routing = SOFTMAX_IN_GROUPS
    tables = COMPLEX_ROTARY
    config = Fields(usual({V: 102400, E: 4096, H: 11008, **EXPERTS, **DEPTHS, **HEADS}), inert=("norm_topk_prob",))
    witness = WitnessSpec(
        "DeepseekV2",
        arguments={"num_key_value_heads": None, "n_group": 1, "topk_group": 1},
        # it rotates pairs as complex numbers, which must begin at an even index
        conditions=(Divides(A, E), Divides(Integer(2), D_nope), Divides(Integer(2), R_kv)),
    )

    variants = (*Latent.variants, {"grouped": True})

    grouped: bool = option(Choice("topk_method", {"greedy": False, "group_limited_greedy": True}, "greedy"))

    @property
    def experts(self) -> MoE:
        code = "softmax of float32 logits"
        return replace(super().experts, router_code=f"{code} in groups" if self.grouped else code)
