"""The transform before a head."""

from __future__ import annotations

from dataclasses import dataclass, field

from sympy import Expr

from ..language.symbols import E
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Component
from .layer_norm import LayerNorm


@dataclass(frozen=True, kw_only=True)
class HeadTransform(Component):
    """A linear layer, an activation and a norm before the decoder of a head, as in the code of Devlin et al. 2019
    [devlin2019].

    >>> HeadTransform().params
    E**2 + 3*E
    """

    title = "Transform before a head"
    role = "head"
    shapes = "x[B,S,E] -> y"

    width: Expr = E  # of the output
    bias: bool = True
    activation: Activation = "gelu"
    dense: str = "dense"
    act: str = "transform_act_fn"
    norm: str = "LayerNorm"
    normalise: Component = field(default_factory=LayerNorm)

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        y = ops.linear(self.dense, x, self.width, bias=self.bias)
        return ops.call(self.norm, self.normalise, ops.activation(self.act, y, self.activation))
