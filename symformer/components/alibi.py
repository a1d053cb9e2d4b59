"""Attention with linear biases."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class ALiBi(Component):
    """Linear biases: each head adds its own slope times the distance to its scores, Press et al. 2022 [press2022],
    section 3. There are no parameters.

    The paper's bias m·(j - i) of query i and key j is m·j here, as in the models that use it: m·i is the same for all
    keys of a query, so the softmax cancels it.

    >>> ALiBi().params, ALiBi().formula("flops", count="all")
    (0, B*S**2*A)
    """

    title = "Attention with linear biases"
    role = "attention"
    shapes = "scores[B,A,S,S] -> biased[B,A,S,S]"

    def forward(self, ops: Operations, scores: Tensor) -> Tensor:
        _, heads, _, keys = scores.shape
        return ops.add("biased", scores, ops.slopes("slopes", heads, keys))
