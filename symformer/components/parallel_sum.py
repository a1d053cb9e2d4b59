"""Sum of parallel parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component, context_signature, inputs_for
from .mlp import MLP
from .self_attention import SelfAttention


@dataclass(frozen=True, kw_only=True)
class ParallelSum(Component):
    """The sum of parts that all have the same input.

    >>> ParallelSum().params
    4*E**2 + 2*E*H + 5*E + H
    """

    title = "Sum of parallel parts"
    role = "block"
    relations = SelfAttention.relations
    constraints = SelfAttention.constraints

    parts: Mapping[str, Component] = field(default_factory=lambda: {"attention": SelfAttention(), "mlp": MLP()})
    before: Mapping[str, str] = field(default_factory=dict)  # part -> the name of the factor of its input
    after: Mapping[str, str] = field(default_factory=dict)  # part -> the name of the factor of its output

    @property
    def shapes(self) -> str:  # type: ignore[override]  # the further inputs of the parts
        further = next((context_signature(part) for part in self.parts.values() if context_signature(part)), "")
        return f"x[B,S,E]{further} -> y[B,S,E]"

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        first, *others = self.parts
        total = self._of(ops, self.parts[first], first, x, context)
        for name in others:
            total = ops.add(f"{name}_sum", total, self._of(ops, self.parts[name], name, x, context))
        return total

    def _of(self, ops: Operations, part: Component, name: str, x: Tensor, context: tuple[Tensor, ...]) -> Tensor:
        x = ops.scale(self.before[name], x) if name in self.before else x
        y: Tensor = ops.call(name, part, *inputs_for(part, x, context))
        return ops.scale(self.after[name], y) if name in self.after else y
