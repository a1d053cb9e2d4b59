"""ERNIE 4.5 with experts."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import GatedMLP, LMHead, MoE
from ..components.moe import SOFTMAX_WITH_BIAS
from ..language.sizes import AtMost
from ..language.symbols import A, D, E, G, H, K, L_dense, L_moe, M, V, X, X_shared
from .base_architecture import HEAD_WIDTH, BoolField, Field, Fields, WitnessSpec, option, unknown, usual
from .bases.biased import BiasedAlike
from .bases.dense_first import DenseFirst
from .bases.llama_like import ROTARY_HEADS

EXPERTS = {M: 1536, X: Field(("moe_num_experts", "num_experts"), 64), K: Field(("moe_k", "num_experts_per_tok"), 6)}
SHARED = {X_shared: Field(("moe_num_shared_experts",), 2, absent=0)}
DEPTHS = {L_dense: Field(("moe_layer_start_index",), 1), L_moe: Field(("num_hidden_layers",), 28, beside=L_dense)}


@dataclass(frozen=True, kw_only=True)
class Ernie45MoE(BiasedAlike, DenseFirst):
    """ERNIE 4.5 21B-A3B and 300B-A47B, Baidu-ERNIE-Team 2025 [baidu2025]: dense layers followed by layers with experts,
    and with shared experts in the smaller model. There is no module for multi-token prediction, as in the class.

    >>> Ernie45MoE().formula("kv-cache")
    4*B*C*L*G*D
    """

    title = "ERNIE 4.5 MoE"
    constraints = (*ROTARY_HEADS, AtMost(K, X))
    config = Fields(
        usual({V: 103424, E: 2560, H: 12288, **EXPERTS, **SHARED, **DEPTHS, A: 20, G: 4, D: HEAD_WIDTH}),
        nullable={"shared": X_shared},
        restated={"moe_layer_end_index": L_dense + L_moe - 1},
        # The class reads the first of these fields. The others describe what it computes.
        fixed={
            **{"moe_layer_interval": (1,), "moe_use_aux_free": (True,)},
            **{"moe_gate": ("topk",), "moe_gate_act": ("softmax",)},
        },
        # a lower bound of a sum of weights; the weight of a loss
        inert=("moe_norm_min", "router_aux_loss_coef", "moe_capacity"),
    )
    witness = WitnessSpec("Ernie4_5_Moe", activation_refusal=unknown("the rotary angles, which each layer repeats,"))
    variants = ({}, {"bias": True}, {"shared": False, "tied": False}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))
    shared: bool = True

    @property
    def experts(self) -> MoE:
        shared = GatedMLP(hidden=X_shared * M, bias=self.bias, activation=self.activation) if self.shared else None
        name = "gate.moe_statics.e_score_correction_bias"
        return MoE(activation=self.activation, routing=SOFTMAX_WITH_BIAS, shared=shared, choice_bias=name)

    @property
    def logits(self) -> LMHead:  # type: ignore[override]
        return LMHead(bias=self.bias)
