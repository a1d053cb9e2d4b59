"""gpt-oss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ..components import Component, MoE, RMSNorm, SelfAttention
from ..components.moe import SOFTMAX_OF_CHOSEN
from ..language.sizes import AtMost
from ..language.symbols import A, C_win, D, E, G, K, M, V, X
from ..ledger.facts import HALF_ROTARY, SHIFTED_SOFTMAX
from .base_architecture import Activation, BoolField, Field, Fields, WitnessSpec, option, usual
from .bases.biased import Biased
from .bases.local_global import LocalGlobal, local_global

EXPERTS = {M: Field(("intermediate_size",), 2880), X: 128, K: 4}


@dataclass(frozen=True, kw_only=True)
class GptOss(LocalGlobal, Biased):
    """gpt-oss, OpenAI 2025 [openai2025], section 2: experts with biases, attention sinks, and a sliding window in every
    other layer.

    The activation of the gate is x·sigmoid(1.702x). The gate and up projections are clamped, which is not counted.

    >>> GptOss().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*C*L_global*G*D
    """

    title = "gpt-oss"
    constraints = (*LocalGlobal.constraints, AtMost(K, X))
    config = Fields(
        usual({V: 201088, E: 2880, **EXPERTS, A: 64, G: 8, D: 64, C_win: 128}),
        layers=local_global(1, 36),
        fixed={"output_router_logits": (False,)},
        inert=(
            *("initial_context_length", "router_aux_loss_coef"),  # the weight of the load-balancing loss
            *("hidden_act", "swiglu_alpha", "swiglu_limit", "experts_per_token"),  # parameters of its gate
        ),
    )
    witness = WitnessSpec("GptOss", functions=("attention_dropout", "act_fn"), accepts_sdpa=False)
    variants = ({}, {"attention_bias": False}, {"tied": True}, {"head": "none"})

    activation: ClassVar[Activation] = "silu"  # type: ignore[misc]  # not an option: the experts have their own
    attention_bias: bool = option(BoolField("attention_bias", True))

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, sinks="sinks", softmax=SHIFTED_SOFTMAX)

    norm = RMSNorm(late=True)
    tables = HALF_ROTARY

    @property
    def mlp(self) -> Component:
        return MoE(
            router="router",
            routing=SOFTMAX_OF_CHOSEN,
            router_code="softmax of chosen",
            bias=True,
            activation="quick_gelu",
            lifted=True,
        )
