"""A weight format: the tensors in which a stored matrix is kept, and the matrices that it applies to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from sympy import Expr, Integer, Symbol

from ...language.sizes import Condition, Divides
from .stored_matrix import StoredMatrix, WeightRole

HALF = Integer(2)  # bytes of an element that is not quantized


@dataclass(frozen=True)
class StoredTensor:
    """One tensor in which a matrix is kept: its codes, its scales or its zero points."""

    name: str
    factors: tuple[Expr, ...]  # their product is the number of bytes for one matrix


@dataclass(frozen=True)
class WeightFormat:
    """A format of matrices that does not depend on the other matrices of the model.

    Attributes
    ----------
    name : str
        The value of ``weights=``.
    meaning : str
        The layout, in words.
    parts : Callable[[Expr, Expr], tuple[StoredTensor, ...]]
        The tensors of one matrix, from its rows and its columns.
    divides : Callable[[Expr, Expr], Iterable[tuple[Expr, Expr]]]
        Pairs of a divisor and a size, from the rows and the columns: each divisor must divide its size.
    roles : frozenset[WeightRole]
        The roles of the weights that it quantizes. The others keep 2 bytes per element.
    defaults : Mapping[Symbol, int]
        The values of the sizes that the layout has, such as the elements per group.
    refused : frozenset[WeightRole]
        The roles of weights whose layout in this format is not known.

    """

    name: str
    meaning: str
    parts: Callable[[Expr, Expr], tuple[StoredTensor, ...]]
    divides: Callable[[Expr, Expr], Iterable[tuple[Expr, Expr]]] = lambda rows, cols: ()
    roles: frozenset[WeightRole] = frozenset({WeightRole.LINEAR, WeightRole.EXPERT})
    defaults: Mapping[Symbol, int] = field(default_factory=dict)
    refused: frozenset[WeightRole] = frozenset()

    def tensors(self, matrix: StoredMatrix) -> tuple[StoredTensor, ...]:
        """Return the tensors of one of the matrices of a weight."""
        if matrix.role in self.roles:
            return self.parts(matrix.rows, matrix.cols)
        return (StoredTensor("", (*matrix.weight.shape, HALF)),)

    def conditions(self, matrix: StoredMatrix) -> tuple[Condition, ...]:
        """Return the conditions on the shape of a weight."""
        if matrix.role not in self.roles:
            return ()
        return tuple(
            Divides(by, size, self._remedy(by, size, matrix)) for by, size in self.divides(matrix.rows, matrix.cols)
        )

    def _remedy(self, divisor: Expr, size: Expr, matrix: StoredMatrix) -> str:
        """Return the remedy if a size of a weight or of a group is not a multiple."""
        if not size.free_symbols - self.defaults.keys():
            return f"weights={self.name} has no groups of this size"
        groups = divisor.free_symbols & self.defaults.keys()
        remedy = f"; set {next(iter(groups))} to a divisor" if groups else ""
        return f"weights={self.name} needs a multiple for {matrix.weight.path}{remedy}"
