"""Projector from the features of images to the tokens of a language model."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import E
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class Projector(Component):
    """Two linear layers with an activation between them, from the width of image features to that of tokens, Liu et al.
    2023 [liu2023b], section 3.3.

    >>> Projector().params, Projector(bias=False).params
    (E**2 + E*E_vis + 2*E, E**2 + E*E_vis)
    """

    title = "Projector"
    role = "other"
    purpose = "The projector turns image features into tokens of the language model."
    tower = "projector"
    shapes = "x[B,S,E_vis] -> y[B,S,E]"

    bias: bool = True
    activation: Activation = "gelu"
    up: str = "linear_1"
    act: str = "act"
    down: str = "linear_2"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        hidden = ops.activation(self.act, ops.linear(self.up, x, E, bias=self.bias), self.activation)
        return ops.linear(self.down, hidden, E, bias=self.bias)
