"""Cohere."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.head_norm import HeadNorm
from ..components.layer_norm import LayerNorm
from ..language.sizes import Divides
from ..language.symbols import A, D, E, G, H, L, V
from .base import HEAD_WIDTH, Fields, Switch, Witness, option, usual
from .bases.biased import Biased


@dataclass(frozen=True, kw_only=True)
class Cohere(Biased):
    """Command-R, Cohere 2024 [cohere2024]: attention and the MLP read one norm side by side; Command-R+ normalises
    queries and keys besides.

    The factor of the logits is elementwise.

    >>> Cohere().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + L*E + V*E + E
    """

    title = "Cohere"
    config = Fields(
        usual({V: 256000, E: 8192, H: 22528, L: 40, A: 64, G: A, D: HEAD_WIDTH}),
        inert=("logit_scale",),  # a factor
    )
    witness = Witness(
        "Cohere",
        conditions=(Divides(A, E),),
        unread="what the class keeps of the layer norm that it writes out in Python is not known",
    )
    variants = ({}, {"qk_norm": True}, {"attention_bias": True}, {"tied": False}, {"head": "none"})

    tied: bool = option(Switch("tie_word_embeddings", True))
    qk_norm: bool = option(Switch("use_qk_norm", False))

    @property
    def norm(self) -> Component:
        return LayerNorm(bias=False)

    @property
    def layer(self) -> Component:
        attention = replace(self.rotary_attention, head_norm=HeadNorm() if self.qk_norm else None)
        return self.parallel_layer(attention, self.mlp)
