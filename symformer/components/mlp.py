"""Feed-forward network with two matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr

from ..language.symbols import H
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component


@dataclass(frozen=True, kw_only=True)
class MLP(Component):
    """Two matrices with an activation between them, Vaswani et al. 2017 [vaswani2017], section 3.3, eq. 2.

    >>> MLP().params, MLP(bias=False).params
    (2*E*H + E + H, 2*E*H)
    """

    title = "Feed-forward network"
    role = "MLP"
    purpose = "The feed-forward network transforms each token independently of the others."
    shapes = "x[...,E] -> y[...,E]"

    hidden: Expr = H
    bias: bool = True
    activation: Activation = "gelu"
    trained: Component | None = None  # an activation with parameters, instead of a function
    up: str = "up"
    act: str = "act"
    inner_dropout: str = ""  # the name of the dropout on the hidden layer, or ""
    down: str = "down"
    dropout: str = ""

    def split(self, cut: Cut) -> MLP:
        return replace(self, hidden=cut.share(self.hidden))

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        hidden = ops.linear(self.up, x, self.hidden, bias=self.bias)
        if self.trained is not None:
            hidden = ops.call(self.act, self.trained, hidden)
        else:
            hidden = ops.activation(self.act, hidden, self.activation)
        if self.inner_dropout:
            hidden = ops.dropout(self.inner_dropout, hidden)
        y = ops.linear(self.down, hidden, x.width, bias=self.bias)
        return ops.dropout(self.dropout, y) if self.dropout else y
