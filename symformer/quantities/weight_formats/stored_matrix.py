"""Stored weights as a quantizer sees them: matrices with an input and an output width, each with a role."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from sympy import Expr, Mul

from ...ledger.facts import ONE, Entry, Ledger, OperationKind, Weight
from ..rule_sets.linear_roles import Role, RoleTable


class WeightRole(StrEnum):
    """The role of a stored weight. Formats quantize some roles and keep the others."""

    LINEAR = "linear layer"
    EXPERT = "expert"
    ROUTER = "router"
    HEAD = "LM head"
    TOKENS = "token embedding"
    TABLE = "table of positions, segments or classes"
    KERNEL = "convolution"
    VECTOR = "norm or bias"
    PARAMETER = "parameter outside layers"


@dataclass(frozen=True)
class StoredMatrix:
    """A stored weight: ``copies`` matrices of ``rows`` x ``cols`` elements.

    Parameters
    ----------
    weight : Weight
        The weight, named by its torch path.
    entry : Entry
        The operation that stores it.
    role : WeightRole
        Its role.
    copies : Expr
        The number of matrices that are stored together: the experts of a layer, or 1.
    rows, cols : Expr
        The output width and the input width. Blocks of elements run along the input width.

    """

    weight: Weight
    entry: Entry
    role: WeightRole
    copies: Expr
    rows: Expr
    cols: Expr

    @property
    def elements(self) -> Expr:
        """The number of elements of one matrix."""
        return Mul(self.rows, self.cols)


def stored_matrices(ledger: Ledger) -> Iterator[StoredMatrix]:
    """Yield every stored weight of a ledger."""
    roles = RoleTable(ledger)
    for _, entry in ledger:
        for weight in entry.weights:
            copies, rows, cols = _split(entry, weight)
            yield StoredMatrix(weight, entry, _role(entry, weight, roles), copies, rows, cols)


def _split(entry: Entry, weight: Weight) -> tuple[Expr, Expr, Expr]:
    """Return the shape of a weight as a number of matrices, their rows and their columns."""
    *before, last = weight.shape or (ONE,)
    if entry.kind is OperationKind.EXPERTS and len(weight.shape) == 3:
        return weight.shape[0], weight.shape[1], last
    return ONE, Mul(*before), last


def _role(entry: Entry, weight: Weight, roles: RoleTable) -> WeightRole:
    matrix = len(weight.shape) > 1
    match entry.kind:
        case OperationKind.LOOKUP:
            return WeightRole.TOKENS if entry.function == "tokens" else WeightRole.TABLE
        case OperationKind.CONVOLUTION if matrix:
            return WeightRole.KERNEL
        case OperationKind.EXPERTS if len(weight.shape) > 2:
            return WeightRole.EXPERT
        case _ if entry.adapter:
            return WeightRole.PARAMETER  # not quantized with the layer that it is added to
        case OperationKind.LINEAR if matrix and not entry.module:
            return WeightRole.PARAMETER  # such as the input projections of torch's MultiheadAttention
        case OperationKind.LINEAR if matrix:
            return {Role.HEAD: WeightRole.HEAD, Role.ROUTER: WeightRole.ROUTER}.get(
                roles.role(entry), WeightRole.LINEAR
            )
        case OperationKind.PARAMETER if matrix:
            return WeightRole.PARAMETER
        case _:
            return WeightRole.VECTOR
