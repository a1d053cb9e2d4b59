"""dots.llm1."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import MoE, SelfAttention
from ..components.moe import SIGMOID_IN_GROUPS_MAYBE_DIVIDED
from ..language.sizes import AtMost
from ..language.symbols import A, D, E, G, H, K, L_dense, L_moe, M, V, X, X_shared
from .base_architecture import HEAD_WIDTH, Choice, Field, Fields, WitnessSpec, option, usual
from .bases.biased import Biased
from .bases.dense_first import DenseFirst
from .bases.llama_like import ROTARY_HEADS

EXPERTS = {M: 1408, X: Field(("n_routed_experts", "num_local_experts")), X_shared: None, K: None}
HEADS = {A: 32, G: Field(("num_key_value_heads",), 32), D: HEAD_WIDTH}
DEPTHS = {L_dense: None, L_moe: Field(("num_hidden_layers",), 62, beside=L_dense)}


@dataclass(frozen=True, kw_only=True)
class Dots1(DenseFirst, Biased):
    """dots.llm1, Huo et al. 2025 [huo2025], section 2.1: normalized queries and keys, and the experts of DeepSeek-V3.

    >>> Dots1().formula("active-params").partial(X_shared="2")
    2*L*E*A*D + 2*L*E*G*D + 3*L_moe*E*K*M + 3*L_dense*E*H + L_moe*E*X + 6*L_moe*E*M + 2*L*E + 2*L*D + 2*V*E + E
    """

    title = "dots.llm1"
    routing = SIGMOID_IN_GROUPS_MAYBE_DIVIDED
    constraints = (*ROTARY_HEADS, AtMost(K, X))
    config = Fields(
        usual({V: 152064, E: 4608, H: 10944, **EXPERTS, **DEPTHS, **HEADS}),
        required={"sliding_window": (None,)},  # otherwise layers after ``max_window_layers`` have a window
        inert=("max_window_layers",),
    )
    witness = WitnessSpec(
        "Dots1", arguments={"n_group": 1, "topk_group": 1, "sliding_window": None, "layer_types": None}
    )

    variants = (*Biased.variants, {"norm_topk_prob": True})

    norm_topk_prob: bool = option(Choice("norm_topk_prob", {False: False, True: True, None: False}, False))

    @property
    def experts(self) -> MoE:
        code = "sigmoid of float32 logits"
        return replace(super().experts, router_code=code if self.norm_topk_prob else f"undivided {code}")

    @property
    def attention(self) -> SelfAttention:
        return replace(self.rotary_attention, head_norm=self.norm)
