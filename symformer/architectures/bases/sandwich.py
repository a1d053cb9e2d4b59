"""Sandwich: LlamaLike with norms before and after each sublayer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...components import Component, SandwichBlock
from .llama_like import LlamaLike


@dataclass(frozen=True, kw_only=True)
class Sandwich(LlamaLike):
    """A decoder with sandwich norms, with the names of Gemma 2."""

    around_attention: ClassVar[tuple[str, str]] = ("input_layernorm", "post_attention_layernorm")
    around_mlp: ClassVar[tuple[str, str]] = ("pre_feedforward_layernorm", "post_feedforward_layernorm")

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        (before, after), (then, last) = self.around_attention, self.around_mlp
        first = {before: self.norm, "self_attn": attention, after: self.norm}
        return SandwichBlock(parts={**first, then: self.norm, "mlp": mlp, last: self.norm})
