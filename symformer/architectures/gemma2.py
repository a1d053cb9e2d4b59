"""Gemma 2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components.base import Component
from ..components.rms_norm import RMSNorm
from ..components.sandwich_block import SandwichBlock
from ..language.sizes import AtMost, Divides
from ..language.symbols import A, C_win, D, E, G, H, L_global, L_local, V
from ..ledger.facts import Activation
from .base import Field, Fields, Function, Layers, Switch, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS, ROTARY_HEADS, LlamaLike
from .bases.stacked import Stack


@dataclass(frozen=True, kw_only=True)
class Gemma2(LlamaLike):
    """Gemma 2, Gemma Team 2024 [gemma2024], section 2: layers with a sliding window, and layers without.

    The two kinds of layer store the same and differ in what they look back on; nothing counted depends on their order.
    The scale of the embedding and the soft caps are elementwise.

    >>> Gemma2().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*C*L_global*G*D
    """

    title = "Gemma 2"
    # With a window of 1 transformers' cache keeps all tokens: the last 0 of them are [-0:].
    constraints = (*ROTARY_HEADS, AtMost(Integer(2), C_win))
    fields = Fields(
        usual({V: 256000, E: 2304, H: 9216, A: 8, G: 4, D: 256, C_win: 4096}),
        {
            **OPTIONS,
            "tied": Switch("tie_word_embeddings", True),
            "activation": Function("hidden_activation", "gelu_pytorch_tanh"),
        },
        layers=Layers(
            {"sliding_attention": L_local, "full_attention": L_global},
            ("sliding_attention", "full_attention"),
            Field(("num_hidden_layers",), 26),
        ),
        model_types=("gemma2",),
        classes=heads("Gemma2"),
        fixed={"use_bidirectional_attention": (False, None)},
        rotary=True,
        inert=(
            *(NO_TABLE, "query_pre_attn_scalar"),  # a factor
            *("attn_logit_softcapping", "final_logit_softcapping"),  # elementwise, where that is counted at all
            "hidden_act",  # the class reads the function from 'hidden_activation'
        ),
    )
    witness = Witness(
        "transformers",
        "Gemma2Config",
        prefix="model.",
        stacks={"local_layers": L_local, "global_layers": L_global},
        conditions=(Divides(A, E),),
    )
    variants = ({}, {"tied": False}, {"head": "none"})

    tied: bool = True
    activation: Activation = "gelu_pytorch_tanh"

    @property
    def norm(self) -> Component:
        return RMSNorm(offset=True)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        windowed = replace(self.rotary_attention, window=C_win)
        return (
            Stack("local_layers", L_local, self.layer_of(windowed, self.mlp)),
            Stack("global_layers", L_global, self.layer),
        )

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        return SandwichBlock(
            parts={
                "input_layernorm": self.norm,
                "self_attn": attention,
                "post_attention_layernorm": self.norm,
                "pre_feedforward_layernorm": self.norm,
                "mlp": mlp,
                "post_feedforward_layernorm": self.norm,
            }
        )
