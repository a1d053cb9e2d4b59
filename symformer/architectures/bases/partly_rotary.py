"""PartlyRotary: a decoder of which a part of each head turns."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ...components.base import Component
from ...components.layer_norm import LayerNorm
from ...components.rotary_positions import RotaryPositions
from ...components.self_attention import SelfAttention
from ...language.sizes import AtMost, Condition, Divides
from ...language.symbols import A, D_rope, E
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from .llama_like import LlamaLike

PART_OF_A_HEAD: tuple[Condition, ...] = (Divides(A, E), Divides(Integer(2), D_rope), AtMost(D_rope, E / A))


@dataclass(frozen=True, kw_only=True)
class PartlyRotary(LlamaLike):
    """As :class:`~.llama_like.LlamaLike`, but heads of width E/A turn in part, and norms are layer norms."""

    constraints = PART_OF_A_HEAD

    @property
    def norm(self) -> Component:
        return LayerNorm()

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, head_width=E / A, positions=RotaryPositions(width=D_rope))

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.positions("rotary_emb", tokens.shape[1], D_rope, "rotary"),)
