"""gpt-oss."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.moe import MoE
from ..components.self_attention import SelfAttention
from ..language.sizes import AtMost
from ..language.symbols import A, C_win, D, E, G, K, M, V, X
from .base import Field, Fields, Switch, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS
from .bases.local_global import STACKS, LocalGlobal, local_global


@dataclass(frozen=True, kw_only=True)
class GptOss(LocalGlobal):
    """gpt-oss, OpenAI 2025 [openai2025], section 2: experts with biases, attention sinks, every other layer a window.

    Its gate opens by x·sigmoid(1.702x), which is clamped, and so is what it opens; neither is counted.

    >>> GptOss().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*C*L_global*G*D
    """

    title = "gpt-oss"
    constraints = (*LocalGlobal.constraints, AtMost(K, X))
    fields = Fields(
        usual(
            {V: 201088, E: 2880, M: Field(("intermediate_size",), 2880), X: 128, K: 4, A: 64, G: 8, D: 64, C_win: 128}
        ),
        {
            **{name: OPTIONS[name] for name in ("tied", "attention_dropout")},
            "attention_bias": Switch("attention_bias", True),
        },
        layers=local_global(1, 36),
        model_types=("gpt_oss",),
        classes=heads("GptOss"),
        fixed={"output_router_logits": (False,)},
        rotary=True,
        inert=(
            *(NO_TABLE, "initial_context_length", "router_aux_loss_coef"),  # a factor of the loss that balances experts
            *("hidden_act", "swiglu_alpha", "swiglu_limit", "experts_per_token"),  # of its own gate
        ),
    )
    witness = Witness(
        "transformers",
        "GptOssConfig",
        prefix="model.",
        stacks=STACKS,
    )
    variants = ({}, {"attention_bias": False}, {"tied": True}, {"head": "none"})

    attention_bias: bool = True

    @property
    def rotary_attention(self) -> SelfAttention:
        bias = self.attention_bias
        return replace(super().rotary_attention, bias=bias, output_bias=bias, sinks="sinks", softmax="")

    @property
    def mlp(self) -> Component:
        return MoE(router="router", bias=True, activation="quick_gelu")
