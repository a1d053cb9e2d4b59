"""Sensitivities: how a quantity depends on each size, as derivative, elasticity, unit increment and asymptote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sympy import Add, Expr, Max, Min, Rational, Symbol, ceiling, diff, expand, floor, fraction, together

from ..architectures import composed_model
from ..formulas.asymptotics import leading_terms
from ..formulas.branches import Branch, branches
from ..formulas.formula import Formula
from ..formulas.growth_order import GrowthOrder
from ..formulas.ratio import lowest
from ..language.aliases import Alias, former
from ..language.errors import SizeError, SymformerError
from ..language.frozen import FrozenDict, Immutable
from ..language.notation.text import code, json_number, to_digits
from ..language.sizes import Numbers, substitute
from ..language.symbols import NamedSizes, letter, symbol
from ..language.target import AnyTarget
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import (
    BriefBlock,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    Table,
    listed,
    plain,
    setting,
)
from .result import FormulaAnswer

SHORT = 100  # the largest denominator that is not printed as a decimal
LONG = 160  # maximum number of characters of a readable formula
BUILT = ("layers", "heads", "experts")  # units of the sizes whose unit increment is listed below the table


@dataclass(frozen=True)
class ChangeBranch(Immutable):
    """The derivative and the elasticity of a formula in one branch of its calls of min and max."""

    branch: Branch
    derivative: Expr
    elasticity: Expr | None  # None if the formula is 0

    def to_json(self) -> dict[str, Any]:
        """Return the branch as JSON data."""
        return {
            "where": [f"{code(low)} < {code(high)}" for low, high in self.branch.conditions],
            "derivative": code(self.derivative),
            "elasticity": _code(self.elasticity),
        }


def _derivative(formula: Expr, size: Symbol) -> Expr:
    above, below = fraction(together(formula))
    if isinstance(below, Add) or any(isinstance(each, Add) for each in below.args):
        return lowest(expand(diff(above, size) * below - above * diff(below, size)), expand(below**2))
    return expand(diff(formula, size))


def _elasticity(formula: Expr, derivative: Expr, size: Symbol) -> Expr:
    above, below = map(expand, fraction(together(size * derivative / formula)))
    one, other = (Add.make_args(each)[0].as_coeff_Mul()[0] for each in (above, below))
    for factor in (one / other, -one / other):
        if len(Add.make_args(above)) == len(Add.make_args(below)) and expand(above - factor * below) == 0:
            return factor  # the formula is proportional to a power of the size
    return lowest(above, below)


@dataclass(frozen=True)
class Change(Immutable):
    """The change of a formula with one size, holding the others fixed."""

    size: Symbol
    formula: Expr
    numbers: Numbers

    @property
    def value(self) -> int | None:
        """The number of the size, or None."""
        return self.numbers.get(self.size)

    @cached_property
    def derivative(self) -> Expr | None:
        """The partial derivative, or None if floor, ceiling, min or max make the formula non-differentiable."""
        if any(self.size in each.free_symbols for each in self.formula.atoms(floor, ceiling, Min, Max)):
            return None
        return _derivative(self.formula, self.size)

    @cached_property
    def elasticity(self) -> Expr | None:
        """The elasticity, the percentage change per percent of the size: derivative times size over value."""
        if self.derivative is None or self.formula == 0:
            return None
        return _elasticity(self.formula, self.derivative, self.size)

    @cached_property
    def branches(self) -> tuple[ChangeBranch, ...]:
        """The derivative and the elasticity in each branch of the calls of min and max that contain the size.

        Empty without such calls, with more than eight branches, or if the size is inside floor or ceiling.

        >>> from symformer.language.symbols import C, C_win, E
        >>> for each in Change(C, 2*E*Min(C, C_win - 1), {}).branches:
        ...     print(each.branch.text, each.derivative, each.elasticity)
        C < C_win - 1 2*E 1
        C > C_win - 1 0 0
        """
        if self.derivative is not None or any(
            self.size in each.free_symbols for each in self.formula.atoms(floor, ceiling)
        ):
            return ()
        found = []
        for each in branches(self.formula, self.size):
            derivative = _derivative(each.expr, self.size)
            elasticity = None if each.expr == 0 else _elasticity(each.expr, derivative, self.size)
            found.append(ChangeBranch(each, derivative, elasticity))
        return tuple(found)

    @property
    def active(self) -> ChangeBranch | None:
        """The branch at the numbers of the sizes; None if a size has no number, or on the border of two branches."""
        return next((each for each in self.branches if each.branch.holds(self.numbers)), None)

    @cached_property
    def one_more(self) -> Expr:
        """The unit increment: the value at size + 1 minus the value at the size."""
        return expand(substitute(self.formula, {self.size: self.size + 1}) - self.formula)

    @cached_property
    def univariate(self) -> Expr:
        """The value as a function of this size alone, with the numbers of the other sizes."""
        return expand(
            substitute(self.formula, {name: each for name, each in self.numbers.items() if name != self.size})
        )

    @cached_property
    def asymptote(self) -> Expr | None:
        """The asymptote of the value as this size tends to infinity, holding the others fixed; None if undecided.

        >>> from symformer.language.symbols import C, E, L
        >>> Change(L, 3*L**2*E + L, {}).asymptote, Change(C, 2*Min(C, 4095) + 5, {}).asymptote
        (3*E*L**2, 8195)
        """
        if self.size not in self.univariate.free_symbols:
            return self.univariate
        with suppress(SizeError):
            return leading_terms(self.univariate, GrowthOrder.infinite(self.size))
        return None

    def evaluate(self, expr: Expr | None) -> Fraction | None:
        """Return the exact value of an expression, or None if a size has no number."""
        if expr is None or not expr.free_symbols <= self.numbers.keys():
            return None
        found = substitute(expr, self.numbers)
        return Fraction(int(found.p), int(found.q)) if isinstance(found, Rational) else None

    # Former names
    alone = Alias("univariate")
    at = Alias("evaluate")


@dataclass(frozen=True, repr=False)
class Sensitivity(FormulaAnswer):
    """The sensitivity of one quantity of a model to each of its sizes."""

    model: Model
    formula: Formula

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The change with each size, in the order of the alphabet."""
        known = {size: number for size, number in self.model.known.items() if size in self.formula.symbols}
        return tuple(Change(size, self.formula.expanded, known) for size in self.formula.symbols)

    def __getitem__(self, name: str) -> Change:
        """Return the change with one size. Raises SizeError if the formula does not depend on it."""
        size = symbol(name, NamedSizes(self.formula.symbols, self.formula.accepted_sizes.names))
        for each in self.changes:
            if each.size == size:
                return each
        have = ", ".join(str(each.size) for each in self.changes)
        raise SizeError(
            f"{self.formula.id} does not depend on {name} ({self.model.meaning(size)}); its sizes are {have}"
        )

    @cached_property
    def value(self) -> Fraction | None:
        """The value of the quantity, or None if a size has no number."""
        with suppress(SymformerError):
            return Fraction(self.formula.value())
        return None

    @cached_property
    def violated_conditions(self) -> Mapping[Symbol, str]:
        """The sizes that violate a condition if increased by 1, each with the reason."""
        known, found = self.model.known, {}
        for each in self.changes:
            if each.value is not None:
                try:
                    for condition in self.formula.constraints:
                        condition.check({**known, each.size: each.value + 1})
                except SizeError as error:
                    found[each.size] = str(error)
        return FrozenDict(found)

    def to_json(self) -> dict[str, Any]:
        """Return the sensitivity as ``sensitivity --json`` prints it; a fraction is a string "p/q"."""
        return {
            **self._formula_json(),
            "value": json_number(self.value),
            "sizes": [
                {
                    "size": str(each.size),
                    "meaning": self.model.meaning(each.size),
                    "value": each.value,
                    "derivative": _code(each.derivative),
                    "derivative_value": json_number(each.evaluate(each.derivative)),
                    "elasticity": _code(each.elasticity),
                    "elasticity_value": json_number(each.evaluate(each.elasticity)),
                    **({"branches": [one.to_json() for one in each.branches]} if each.branches else {}),
                    **(
                        {
                            "branch_derivative_value": json_number(each.evaluate(active.derivative)),
                            "branch_elasticity_value": json_number(each.evaluate(active.elasticity)),
                        }
                        if (active := each.active) is not None
                        else {}
                    ),
                    "one_more": _code(each.one_more),
                    "one_more_value": json_number(each.evaluate(each.one_more)),
                    "one_more_breaks": self.violated_conditions.get(each.size),
                    "alone": _code(each.univariate),
                    "asymptote": _code(each.asymptote),
                }
                for each in self.changes
            ],
        }

    def table(self) -> dict[str, list[Any]]:
        """Return one row per size: formulas, and their values if all sizes have numbers."""
        each = self.changes
        return {
            "size": [one.size for one in each],
            "value": [one.value for one in each],
            "derivative": [one.derivative for one in each],
            "derivative value": [one.evaluate(one.derivative) for one in each],
            "elasticity": [one.elasticity for one in each],
            "elasticity value": [one.evaluate(one.elasticity) for one in each],
            "one more": [one.one_more for one in each],
            "one more value": [one.evaluate(one.one_more) for one in each],
            "asymptote (others fixed)": [one.asymptote for one in each],
        }

    @former(by="x")
    def plot(self, path: str | None = None, *, x: str = "") -> Plot:
        """Plot the elasticities as bars or, with ``x``, the quantity and its asymptote against that size."""
        return self._put(path, x)

    def _picture(self, by: str) -> Plot:
        from .result_plots.sensitivity_plot import draw

        return draw(self, by)

    def __repr__(self) -> str:
        return f"<{self.formula.id} by {', '.join(str(each.size) for each in self.changes)}>"

    def to_blocks(self) -> list[BriefBlock]:
        """Return the formula, its conventions, a table with one row per size, and the cost of one more of each."""
        formula = self.formula
        found: list[BriefBlock] = [
            Heading(1, [f"{self.model.title} ({self.model.target}): {formula.measure.title}"]),
            formula.equation(),
            *(Paragraph(["where ", Math.of(size), " = ", Math.of(value)]) for size, value in formula.relations.items()),
            *(Paragraph([setting(name, choice)]) for name, choice in formula.conventions.items()),
            *map(Paragraph, self.rank_lines()),
        ]
        if not self.changes:
            return [*found, Paragraph(["the formula has no sizes"])]
        head = ["size", "value", "derivative", "elasticity", "increase by 1", "", "asymptote (others fixed)"]
        rows = [self._row(each) for each in self.changes]
        return [*found, Table([[each] for each in head], rows, "lrlrlrl"), *map(Paragraph, self._notes())]

    def _row(self, each: Change) -> list[Line]:
        """Return the cells of one size."""
        active = each.active
        elasticity = each.evaluate(each.elasticity if active is None else active.elasticity)
        percent: Line = [] if each.elasticity is None else _shown(each.elasticity)
        if each.branches:
            percent = _by_branch([(one.branch, one.elasticity) for one in each.branches])
            derivative = _by_branch([(one.branch, one.derivative) for one in each.branches])
        else:
            derivative = _shown(each.derivative)
        return [
            [Math.of(each.size)],
            [] if each.value is None else [f"{each.value:,}"],
            derivative,
            percent if elasticity is None else [_digits(elasticity)],
            _shown(each.one_more),
            [cost] if (cost := _number(each.evaluate(each.one_more))) else [],
            _decimal(each.asymptote),
        ]

    def _notes(self) -> list[Line]:
        """Return the cost of one more layer, head or expert, and the violated conditions."""
        found: list[Line] = []
        for each in self.changes:
            cost = each.evaluate(each.one_more)
            if cost is None or letter(each.size).unit not in BUILT:
                continue
            share = f", {_digits(100 * cost / self.value)} % of the total" if self.value else ""
            amount = f"{_number(cost)} {self.formula.measure.unit}{share}"
            found.append([Math.of(each.size), f" + 1 ({self.model.meaning(each.size)}): {amount}"])
        return found + [
            [Math.of(size), f" + 1 alone violates a condition: {why}"] for size, why in self.violated_conditions.items()
        ]

    # Former names
    broken = Alias("violated_conditions")


def _code(expr: Expr | None) -> str | None:
    return None if expr is None else code(expr)


def _shown(expr: Expr | None) -> Line:
    if expr is None:
        return ["none"]
    return [Math.of(expr)] if len(code(expr)) <= LONG else ["long; JSON has it"]


def _decimal(expr: Expr | None) -> Line:
    """Return a sum with its long fractions as decimals, such as ``≈ 0.0001257·L`` for 82,256L/654,296,875."""
    parts = [] if expr is None else [term.as_coeff_Mul() for term in Add.make_args(expr)]
    if expr is None or all(number.q <= SHORT for number, _ in parts):
        return _shown(expr)
    line: list[Piece] = ["≈ "]
    for place, (number, rest) in enumerate(parts):
        sign = "-" if number < 0 else ""
        line += [f" {sign or '+'} " if place else sign, _digits(abs(Fraction(int(number.p), int(number.q))))]
        line += ["·", Math.of(rest)] if rest != 1 else []
    return line if len(plain(line)) <= LONG else ["long; JSON has it"]


def _by_branch(found: Sequence[tuple[Branch, Expr | None]]) -> Line:
    """Return an expression for each branch, with its conditions."""
    lines: list[Line] = []
    for branch, expr in found:
        lines.append(["none" if expr is None else Math.of(expr), " if ", *listed(*branch.lines)])
    line = listed(*lines, last=", ")
    return line if len(plain(line)) <= LONG else ["long; JSON has it"]


def _number(value: Fraction | None) -> str:
    return "" if value is None else f"{int(value):,}" if value.denominator == 1 else f"≈ {_digits(value)}"


def _digits(value: Fraction) -> str:
    """Return an integer exactly, and another number to four digits."""
    if value.denominator == 1:
        return str(int(value))
    return f"{to_digits(value, 4):f}"


def sensitivity(target: Model | AnyTarget, quantity: str = "params", **conventions: str) -> Sensitivity:
    """Return the sensitivity of one quantity of a model to each of its sizes.

    Parameters
    ----------
    target
        A model or its name.
    quantity, conventions
        The quantity and its conventions.

    Returns
    -------
    Sensitivity
        One row for each size: the derivative, the elasticity and the change for one more.

    Raises
    ------
    SymformerError
        A subclass, if the target, the quantity or a convention is unknown.

    Examples
    --------
    >>> found = sensitivity("llama-2-7b")["L"]
    >>> found.one_more, found.evaluate(found.one_more)
    (2*A*D*E + 2*D*E*G + 3*E*H + 2*E, Fraction(202383360, 1))

    """
    model = composed_model(target)
    return Sensitivity(model, model.formula(quantity, **conventions))
