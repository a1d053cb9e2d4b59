"""Relative bias."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class RelativeBias(Component):
    """A bias that depends on the distance of two tokens, added to their score, Raffel et al. 2020 [raffel2020],
    section 2.1.

    >>> RelativeBias().params, RelativeBias().formula("flops", count="all")
    (0, B*S**2*A)
    """

    title = "Relative bias"
    role = "attention"
    shapes = "scores[B,A,S,S], bias[1,A,S,S] -> biased[B,A,S,S]"

    def forward(self, ops: Operations, scores: Tensor, bias: Tensor) -> Tensor:
        return ops.add("biased", scores, bias)
