"""Linear projector from the features of images to the tokens of a language model."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import E
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class LinearProjector(Component):
    """One linear layer from the width of image features to that of tokens, Beyer et al. 2024 [beyer2024], section 3.1.

    >>> LinearProjector().params
    E*E_vis + E
    """

    title = "Linear projector"
    role = "other"
    purpose = "The projector turns image features into tokens of the language model."
    tower = "projector"
    shapes = "x[B,S,E_vis] -> y[B,S,E]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.linear("linear", x, E)
