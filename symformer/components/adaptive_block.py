"""Adaptive block."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ledger.facts import ONE, Tensor
from ..ledger.operations import Operations
from .base import Component
from .layer_norm import LayerNorm
from .mlp import MLP
from .self_attention import SelfAttention

PLAIN_NORM = LayerNorm(scale=False, bias=False)


@dataclass(frozen=True, kw_only=True)
class AdaptiveBlock(Component):
    """A pre-norm block whose scales, shifts and gates are computed from a conditioning vector (adaLN-Zero), Peebles and
    Xie 2023 [peebles2023], section 3.2.

    A SiLU and a matrix compute six vectors of E elements, shared by all tokens: x + g·f(norm(x)·(1 + s) + b) for
    attention, then for the feed-forward network. The norms have no parameters.

    >>> AdaptiveBlock().params
    10*E**2 + 2*E*H + 11*E + H
    """

    title = "Adaptive block (adaLN-Zero)"
    role = "block"
    further_inputs = {"c": "is the embedding of the timestep and the other conditions"}
    relations = SelfAttention.relations
    constraints = SelfAttention.constraints

    attention: Component = field(default_factory=lambda: SelfAttention(causal=False))
    mlp: Component = field(default_factory=MLP)
    conditioning: Component | None = None  # if each block computes c itself

    @property
    def shapes(self) -> str:  # type: ignore[override]  # the second input is c, or the inputs of the conditioning
        given = self.conditioning.shapes.partition("->")[0].rstrip() if self.conditioning else "c[B,E]"
        return f"x[B,S,E], {given} -> y[B,S,E]"

    def forward(self, ops: Operations, x: Tensor, *given: Tensor) -> Tensor:
        y = ops.call("norm1.norm", PLAIN_NORM, x)
        c = ops.call("norm1.emb", self.conditioning, *given) if self.conditioning else given[0]
        shift, scale, gate, low, high, last = modulation(ops, "norm1.silu", "norm1.linear", c, 6)
        y = modulate(ops, "norm1", y, shift, scale)
        y = ops.multiply("attn_gate", ops.call("attn1", self.attention, y), gate)
        x = ops.add("attn_residual", x, y)
        y = modulate(ops, "norm3", ops.call("norm3", PLAIN_NORM, x), low, high)
        return ops.add("ff_residual", x, ops.multiply("ff_gate", ops.call("ff", self.mlp, y), last))


def modulation(ops: Operations, act: str, linear: str, c: Tensor, pieces: int) -> list[Tensor]:
    """Return the ``pieces`` modulation vectors [B,1,E] of c[B,E]: SiLU, then one matrix for all of them."""
    made = ops.linear(linear, ops.activation(act, c, "silu"), pieces * c.width)
    return [piece.view((c.shape[0], ONE, c.width)) for piece in ops.split(made, [c.width] * pieces)]


def modulate(ops: Operations, name: str, x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """Return x[B,S,E] · (1 + scale) + shift."""
    return ops.add(f"{name}.shift", ops.multiply(f"{name}.scale", x, scale, "lifted"), shift)
