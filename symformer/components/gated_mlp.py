"""Gated feed-forward network."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr, fraction

from ..language.notation.text import text
from ..language.symbols import H
from ..ledger.activation_names import ACTIVATION_NAMES
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component
from .layer_adapter import LayerAdapter


@dataclass(frozen=True, kw_only=True)
class GatedMLP(Component):
    """A gated feed-forward network, Shazeer 2020 [shazeer2020], eq. 6: SwiGLU with SiLU, GeGLU with GELU.

    >>> GatedMLP().params
    3*E*H
    """

    title = "Gated feed-forward network"
    role = "MLP"
    purpose = "The feed-forward network transforms each token independently of the others."
    shapes = "x[...,E] -> y[...,E]"

    hidden: Expr = H
    bias: bool = False
    activation: Activation = "silu"
    gate: str = "gate_proj"
    up: str = "up_proj"
    act: str = "act_fn"
    down: str = "down_proj"
    fused: str = ""  # the single matrix of the gate and up projections, if there is one
    adapter: str = ""  # the name of the adapter of that matrix, or ""
    gate_factor: str = ""  # the name of the constant factor of the gate projection, or ""
    factor: str = ""  # the name of the constant factor of the output, or ""
    sparsity: Component | None = None  # between the gate projection and its activation
    sparsity_share: Expr = ONE  # of the repeated layers, those with sparsity
    sparsity_name: str = "sparsity"
    norm: Component | None = None  # of the hidden layer, before the output projection
    norm_name: str = "ffn_sub_norm"
    inner_dropout: str = ""  # the name of the dropout on the hidden layer, or ""
    dropout: str = ""

    @property
    def about(self) -> str:
        """Return the description, which depends on the activation."""
        function = ACTIVATION_NAMES[self.activation]
        plain = f"a gated feed-forward network with {function}, Shazeer 2020 [shazeer2020], section 2."
        named = {"silu": "SwiGLU", "relu": "ReGLU", "sigmoid": "GLU"}.get(self.activation)
        named = "GeGLU" if "gelu" in self.activation else named
        said = f"{named}, {plain}" if named else plain[0].upper() + plain[1:]
        if self.sparsity is not None:
            some, every = fraction(self.sparsity_share)
            where = "" if every == 1 else f" In {text(some)} of the {text(every)} layers, the gate is sparse."
            said += f"{where} {self.sparsity.about}"
        normalized = " Its hidden layer is normalized, Wang et al. 2022 [wang2022], section 2.1."
        return said + normalized if self.norm else said

    def split(self, cut: Cut) -> GatedMLP:
        return replace(self, hidden=cut.share(self.hidden))

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        if self.fused:
            joint = ops.linear(self.fused, x, 2 * self.hidden, bias=self.bias)
            joint = LayerAdapter.added(ops, self.adapter, x, joint)
            gate, up = ops.split(joint, (self.hidden, self.hidden))
            gate = ops.activation(self.act, gate, self.activation)
        else:
            gate = ops.linear(self.gate, x, self.hidden, bias=self.bias)
            gate = ops.scale(self.gate_factor, gate) if self.gate_factor else gate
            if self.sparsity is not None:
                gate = ops.side_by_side(self.sparsity_name, self.sparsity_share, self.sparsity, gate)
            gate = ops.activation(self.act, gate, self.activation)
            up = ops.linear(self.up, x, self.hidden, bias=self.bias)
        hidden = ops.multiply("product", gate, up)
        if self.norm is not None:
            hidden = ops.call(self.norm_name, self.norm, hidden)
        if self.inner_dropout:
            hidden = ops.dropout(self.inner_dropout, hidden)
        y = ops.linear(self.down, hidden, x.width, bias=self.bias)
        y = ops.scale(self.factor, y) if self.factor else y
        return ops.dropout(self.dropout, y) if self.dropout else y
