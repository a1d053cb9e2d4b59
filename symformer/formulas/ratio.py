"""A ratio of two formulas, in lowest terms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from sympy import Add, Expr, Integer, Mul, Symbol, expand, fraction, igcd

from ..language.aliases import Alias
from ..language.errors import SizeError
from ..language.sizes import Numbers, evaluate
from ..language.symbols import print_order
from .account import Measure
from .breakdown import Breakdown, Row
from .formula import Formula


@dataclass(frozen=True, eq=False, repr=False)
class Ratio(Formula):
    """The ratio of two formulas, such as FLOPs per byte. Its rows are also ratios and do not sum to it.

    ``value`` is an exact :class:`fractions.Fraction`.
    """

    counts: Measure = field(kw_only=True)  # the measure of the numerator
    denominator: Formula = field(kw_only=True)
    additive: ClassVar[bool] = False
    form: ClassVar[str] = "ratio"
    sides: ClassVar[str] = "its numerator and denominator"

    @property
    def numerator(self) -> Formula:
        """The numerator as a formula."""
        return replace(self.denominator, id=f"{self.id}.{self.counts.name}", measure=self.counts, root=self.root)

    @cached_property
    def expr(self) -> Expr:
        """The quotient without common integer factors and common powers of single symbols."""
        return lowest(self._expanded, self.denominator.expanded)

    @property
    def expanded(self) -> Expr:
        """The quotient."""
        return self.expr

    @cached_property
    def display_expr(self) -> Expr:
        """The quotient as printed."""
        return lowest(
            self.collect_totals(expand(self.root.each.xreplace(self.display_relations))), self.denominator.display_expr
        )

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of numerator and denominator, including those that cancel."""
        both = self.expanded.free_symbols | self.denominator.expanded.free_symbols
        return tuple(sorted(both, key=print_order))

    @cached_property
    def dependencies(self) -> frozenset[Symbol]:
        """The sizes that affect the numerator or the denominator."""
        return super().dependencies | self.denominator.dependencies

    def partial(self, **values: int | str | Expr) -> Ratio:
        """Return the quotient with some symbols fixed in the numerator and the denominator."""
        fixed = super().partial(**values)
        over = replace(self.denominator, relations=fixed.relations, fixed=fixed.fixed)
        return replace(self, relations=fixed.relations, fixed=fixed.fixed, denominator=over)

    def part(self, path: str) -> Ratio:
        """Return the quotient of one copy of a part or of an operation."""
        if path and not self.denominator.root.lines:
            raise SizeError(f"{self.id} is defined only for the whole model, not for a part")
        root, below = super().part(path), self.denominator.part(path)
        return replace(self, id=root.id, root=root.root, whole_account=root.whole_account, denominator=below)

    @property
    def rows(self) -> Breakdown:
        """The ratio of each operation that has a denominator."""
        below = {row.path: row for row in self.denominator.rows}
        rows = [
            replace(row, each=lowest(row.each, below[row.path].each))
            for row in super().rows
            if row.path in below and below[row.path].each != 0
        ]
        return Breakdown(rows, self)

    def _is(self, expr: Expr) -> bool:
        (above, below), (ours, over) = expr.as_numer_denom(), self.expr.as_numer_denom()
        return bool(expand(above * over - ours * below) == 0)

    @property
    def _extent(self) -> str:
        above, below = (len(Add.make_args(side)) for side in fraction(self.expr))
        return f"{above} terms over {below}"

    def row_total(self, row: Row, numbers: Numbers) -> Fraction:
        """Return the ratio of a row, which is the same for each of its copies."""
        return _quotient(row.each, numbers, row.path)

    def _at(self, numbers: Numbers) -> Any:
        if evaluate(self.denominator.expanded, numbers, self.denominator.id) == 0:
            raise SizeError(f"{self.id} is undefined: its {self.denominator.measure.title} are 0")
        return _quotient(self.expr, numbers, self.id)

    # Former names
    above = Alias("numerator")
    over = Alias("denominator")


def _quotient(expr: Expr, numbers: Numbers, what: str) -> Fraction:
    above, below = expr.as_numer_denom()
    return Fraction(evaluate(above, numbers, what), evaluate(below, numbers, what))


def lowest(above: Expr, below: Expr) -> Expr:
    """Return a quotient of two polynomials without the integers and powers common to all their terms."""
    terms = [term.as_coeff_Mul() for side in (above, below) for term in Add.make_args(side)]
    if above == 0:
        return above
    shared = Integer(igcd(*(abs(int(number)) for number, _ in terms)))
    powers = [powers_of.as_powers_dict() for _, powers_of in terms]
    common = Mul(shared, *(base ** min(each.get(base, 0) for each in powers) for base in powers[0] if base != 1))
    return expand(above / common) / expand(below / common)
