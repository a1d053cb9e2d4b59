"""Cohere."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.head_norm import HeadNorm
from ..components.layer_norm import LayerNorm
from ..components.parallel_block import ParallelBlock
from ..language.sizes import Divides
from ..language.symbols import A, D, E, G, H, L, V
from .base import Field, Fields, Switch, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS, LlamaLike


@dataclass(frozen=True, kw_only=True)
class Cohere(LlamaLike):
    """Command-R, Cohere 2024 [cohere2024]: attention and the MLP read one norm side by side; Command-R+ normalises
    queries and keys besides.

    The factor of the logits is elementwise.

    >>> Cohere().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + L*E + V*E + E
    """

    title = "Cohere"
    fields = Fields(
        usual({V: 256000, E: 8192, H: 22528, L: 40, A: 64, G: A, D: Field(("head_dim",), E / A)}),
        {
            **OPTIONS,
            "tied": Switch("tie_word_embeddings", True),
            "attention_bias": Switch("attention_bias", False),
            "qk_norm": Switch("use_qk_norm", False),
        },
        model_types=("cohere",),
        classes=heads("Cohere"),
        rotary=True,
        inert=(NO_TABLE, "logit_scale"),  # a factor
    )
    witness = Witness(
        "transformers",
        "CohereConfig",
        prefix="model.",
        conditions=(Divides(A, E),),
        unread="what the class keeps of the layer norm that it writes out in Python is not known",
    )
    variants = ({}, {"qk_norm": True}, {"attention_bias": True}, {"tied": False}, {"head": "none"})

    tied: bool = True
    attention_bias: bool = False
    qk_norm: bool = False

    @property
    def norm(self) -> Component:
        return LayerNorm(bias=False)

    @property
    def layer(self) -> Component:
        bias = self.attention_bias
        normed = HeadNorm() if self.qk_norm else None
        attention = replace(self.rotary_attention, bias=bias, output_bias=bias, head_norm=normed)
        return ParallelBlock(parts={"input_layernorm": self.norm, "self_attn": attention, "mlp": self.mlp})
