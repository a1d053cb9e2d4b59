"""Group normalization."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.sizes import Divides
from ..language.symbols import D_lin, E
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class GroupNorm(Component):
    """Group normalization, Wu and He 2018 [wu2018], section 3.1: the E elements of each token are normalized in groups
    of D_lin elements, one for each head, with a scale and a bias of E elements each.

    >>> GroupNorm().params
    2*E
    """

    title = "Group normalization"
    role = "norms"
    shapes = "x[B,S,E] -> y[B,S,E]"
    constraints = (Divides(D_lin, E),)

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.norm("", x, "layer_groups")
