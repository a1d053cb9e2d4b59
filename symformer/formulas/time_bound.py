"""A lower bound on a time: the larger of the time to move bytes and the time to compute FLOPs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from sympy import Expr, Max, Rational, Symbol

from ..language.errors import SizeError
from ..language.notation.display_tree import tree
from ..language.notation.text import seconds
from ..language.sizes import Numbers, evaluate, substitute
from ..language.symbols import N_bw, N_peak, print_order
from ..output.blocks import Equation
from ..output.chain import Chain
from .formula import Formula


@dataclass(frozen=True, eq=False, repr=False)
class TimeBound(Formula):
    """The larger of bytes over a bandwidth and FLOPs over a peak: no run is faster. It is not the sum of its rows.

    ``value`` is an exact :class:`fractions.Fraction` of seconds.

    Parameters
    ----------
    moved, work
        The bytes that the memory moves at least, and the FLOPs.
    tokens
        The number of tokens that the time is for.

    """

    moved: Formula = field(kw_only=True)
    work: Formula = field(kw_only=True)
    tokens: Expr = field(kw_only=True)
    additive: ClassVar[bool] = False
    form: ClassVar[str] = "lower bound"
    sides: ClassVar[str] = "memory and FLOPs quantities"

    @cached_property
    def display_expr(self) -> Expr:
        """The bound as printed: bytes over N_bw and FLOPs over N_peak, not term by term."""
        return longer_time(self.moved.display_expr, self.work.display_expr)

    @property
    def exact_value(self) -> Expr:
        """The longer of both times, in which the relations are substituted."""
        return longer_time(self.moved.expanded, self.work.expanded)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of both sides, the bandwidth and the peak."""
        found = self.moved.expanded.free_symbols | self.work.expanded.free_symbols | {N_bw, N_peak}
        return tuple(sorted(found, key=print_order))

    @cached_property
    def dependencies(self) -> frozenset[Symbol]:
        """The sizes that affect the bytes, the FLOPs or the device."""
        return super().dependencies | self.moved.dependencies | self.work.dependencies

    def partial(self, **values: int | str | Expr) -> TimeBound:
        """Return the bound with some symbols fixed on both sides."""
        fixed = super().partial(**values)
        moved, work = (replace(side, relations=fixed.relations, fixed=fixed.fixed) for side in (self.moved, self.work))
        return replace(self, relations=fixed.relations, fixed=fixed.fixed, moved=moved, work=work)

    def part(self, path: str) -> TimeBound:
        """Return the formula itself for an empty path. Raises SizeError for a part: a bound is for the whole model."""
        if path:
            raise SizeError(f"{self.id} is defined only for the whole model, not for a part")
        return self

    def complete(self, numbers: Numbers) -> Numbers:
        """Return the values completed by the relations, after checking all conditions."""
        return self._complete(numbers)

    def times(self, numbers: Numbers) -> tuple[Fraction, Fraction]:
        """Return the time to move the bytes and the time to compute the FLOPs, in seconds."""
        rates = [evaluate(size, numbers, self.id) for size in (N_bw, N_peak)]
        moved, work = self.amounts(numbers)
        return moved / rates[0], work / rates[1]

    def amounts(self, numbers: Numbers) -> tuple[Fraction, Fraction]:
        """Return the bytes and the FLOPs."""
        moved, work = (_exact(side.expanded, numbers, side.id) for side in (self.moved, self.work))
        return moved, work

    def _at(self, numbers: Numbers) -> Fraction:  # type: ignore[override]
        return max(self.times(numbers))

    def equation(self) -> Equation:
        """Return the formula as an equation, with the bound next to it if all sizes have values."""
        reasons = []
        if set(self.symbols) <= self._known.keys():
            reasons = [[f"at least {seconds(self.value())}"]]  # type: ignore[arg-type]
        return Equation(Chain((self.label,), (tree(self.display_expr),)), reasons=reasons)


def longer_time(moved: Expr, work: Expr) -> Expr:
    """Return the larger of bytes over the bandwidth and FLOPs over the peak.

    Neither is larger for every device, so SymPy does not compare them, which takes it longer than everything else here.
    """
    return Max(moved / N_bw, work / N_peak, evaluate=False)


def _exact(expr: Expr, numbers: Numbers, what: str) -> Fraction:
    """Return an exact value, which is a fraction of bytes if a share of the experts is read."""
    result = substitute(expr, numbers)
    if missing := sorted(result.free_symbols, key=print_order):
        raise SizeError(f"{what} needs values for {', '.join(map(str, missing))}")
    if not isinstance(result, Rational):
        raise SizeError(f"{what} divides by zero at these sizes")
    return Fraction(int(result.p), int(result.q))
