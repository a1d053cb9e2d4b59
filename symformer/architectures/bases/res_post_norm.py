"""ResPostNorm: LlamaLike with a norm on the output of each sublayer instead of its input."""

from __future__ import annotations

from dataclasses import dataclass

from ...components import Component, ResPostNormBlock
from .llama_like import LlamaLike


@dataclass(frozen=True, kw_only=True)
class ResPostNorm(LlamaLike):
    """A decoder with a norm on each residual branch, with the names of OLMo 2."""

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        first = {"self_attn": attention, "post_attention_layernorm": self.norm}
        return ResPostNormBlock(parts={**first, "mlp": mlp, "post_feedforward_layernorm": self.norm})
