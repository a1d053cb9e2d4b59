"""Conditioning on a timestep and a class."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Integer

from ..language.symbols import E, N_class
from ..ledger.facts import Tensor, Weight
from ..ledger.operations import Operations
from .base import Component

FREQUENCIES = Integer(256)


@dataclass(frozen=True, kw_only=True)
class Conditioning(Component):
    """A vector of E elements for a timestep and a class, Peebles and Xie 2023 [peebles2023], section 3.2.

    256 sines and cosines of the timestep, which have no parameters, pass through two matrices with a SiLU between them.
    The embedding of the class is added. Its table has one additional row for a dropped class, for classifier-free
    guidance.

    >>> Conditioning().params
    E**2 + E*N_class + 259*E
    """

    title = "Conditioning vector"
    role = "embeddings"
    purpose = "One vector tells every layer the timestep and the class."
    shapes = "timesteps[B], labels[B] -> c[B,E]"

    width: Expr = E
    classes: Expr = N_class

    def forward(self, ops: Operations, timesteps: Tensor, labels: Tensor, stored: str = "") -> Tensor:
        """Record the operations. ``stored`` is the path of another embedder whose weights are reused, or ""."""
        up, down, table = "timestep_embedder.linear_1", "timestep_embedder.linear_2", "class_embedder.embedding_table"

        def of(name: str, *parts: str) -> dict[str, Weight]:
            return {part: ops.weight(f"{stored}.{name}.{part}") for part in parts if stored}

        x, width = ops.sinusoids("time_proj", timesteps, FREQUENCIES), self.width
        x = ops.linear(up, x, width, shared=of(up, "weight", "bias"))
        x = ops.activation("timestep_embedder.act", x, "silu")
        x = ops.linear(down, x, width, shared=of(down, "weight", "bias"))
        row = ops.lookup(table, labels, self.classes + 1, width, "classes", shared=of(table, "weight"))
        return ops.add("sum", x, row)
