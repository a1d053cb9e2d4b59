"""A program compiled for arrays: the value of each row, and the rows in which each condition holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..formulas.array_plan import ArrayPlan
from ..formulas.arrays import WIDE, Ints, NamespaceArithmetic, Numpy
from ..formulas.program import Program, Range
from . import plain_arrays
from .numpy_import import array_namespace

BEYOND = 50  # the cost of an operation on Python integers, relative to one on 64-bit integers


class RowProgram:
    """A program compiled for arrays of one shape."""

    def __init__(self, made: Program, shapes: Mapping[str, tuple[int, ...]], ranges: Mapping[str, Range]) -> None:
        self.program = made
        self.plan = ArrayPlan.of(made, shapes, ranges)
        self.peak = self.plan.peak
        self.cost = self.plan.operations * (BEYOND if self.peak >= WIDE else 1)

    def run(self, arrays: Mapping[str, Any]) -> tuple[Any, list[tuple[str, Any]]]:
        """Return the value, and each condition that may fail with a mask of where it holds."""
        xp = array_namespace()
        if xp is plain_arrays:  # Python's integers have no limit
            return self._evaluated(self.plan, arrays, NamespaceArithmetic(xp), xp)
        if self.peak < WIDE:
            return self._evaluated(self.plan, arrays, Numpy(xp), xp)
        shapes = {name: each.shape for name, each in arrays.items()}
        ranges = {name: (int(each.min()), int(each.max())) for name, each in arrays.items()}
        plan = ArrayPlan.of(self.program, shapes, ranges)
        kind = xp.int64 if plan.peak < WIDE else object
        given = {name: each.astype(kind) for name, each in arrays.items()}
        value, holds = self._evaluated(plan, given, Numpy(xp), xp)
        return xp.asarray(value, object), holds

    def _evaluated(self, plan: ArrayPlan, given: Mapping[str, Any], do: Ints, xp: Any) -> tuple[Any, Any]:
        values = plan.defined(given, do)
        holds = [(held.said, each) for held, each in plan.holding(values, do)]
        return xp.asarray(plan.value(values, do)), holds


def compile_for_rows(made: Program, columns: Mapping[str, Any]) -> RowProgram:
    """Return a program compiled for these columns."""
    shapes = {name: each.shape for name, each in columns.items()}
    ranges = {name: (int(each.min()), int(each.max())) if each.size else (1, 1) for name, each in columns.items()}
    return RowProgram(made, shapes, ranges)
