"""Comparisons of models, role by role: the difference and the ratio of the first model and each other one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from sympy import Expr, Symbol, expand

from ..formulas import ranks
from ..formulas.formula import Formula
from ..formulas.growth_order import GrowthOrder
from ..formulas.leading import Leading
from ..language.aliases import Alias, former
from ..language.errors import OptionError, SizeError, listed
from ..language.frozen import FrozenDict
from ..language.notation.display_tree import Tree
from ..language.notation.text import code, json_number, text
from ..language.sizes import Numbers, substitute
from ..language.symbols import NamedSizes, letter, print_order, symbol
from ..ledger.facts import ONE
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Line
from ..quantities import quantity as find_quantity
from ..quantities.quantity import COUNTED
from .crossover import (
    AllowedValues,
    CrossoverPoint,
    EqualPoint,
    Span,
    crossings,
    equal_points,
    without_common_factor,
    zero_of,
)
from .equal_totals import TotalTie
from .growth_comparison import GrowthComparison
from .joint_comparison import JointComparison
from .quotient_limits import Limit, bounded, limits, quotient
from .result import Answer
from .tied_crossover import TiedCrossover

if TYPE_CHECKING:
    from .structure import StructureComparison

T = TypeVar("T")


@dataclass(frozen=True)
class ComparisonCell:
    """One row of one model."""

    expr: Expr
    value: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the formula and its value as JSON data."""
        return {"formula": code(self.expr), "value": self.value}


Row = tuple[str, *tuple[ComparisonCell, ...]]  # a role, and its total in each model


@dataclass(frozen=True, repr=False)
class Comparison(Answer):
    """A comparison of two or more models in one quantity, each with the first.

    A letter with different numbers is split into two sizes: ``E_1`` of the first model, ``E_2`` of the second. The
    difference is the first minus the other, and the ratio is the first over the other. For three models, ``pairs`` has
    two comparisons.
    """

    models: tuple[Model, ...]
    formulas: tuple[Formula, ...]
    rows: tuple[Row, ...]  # by role; the last is the total
    sizes: tuple[Numbers, ...]  # the known numbers of the symbols in each side's formulas
    renamed_letters: tuple[
        Mapping[Symbol, Symbol], ...
    ]  # each side's letters that differ between models, with their new names
    positions: tuple[int, ...]  # positions from 1; a pair keeps the positions of the full comparison
    ties: Mapping[int, TotalTie] = field(default_factory=dict)  # by position, the tie that makes the totals equal
    divisor: Expr = ONE  # the divisor of everything: B·C for the bytes per token

    @property
    def left(self) -> Model:
        """The first model."""
        return self.models[0]

    @property
    def right(self) -> Model:
        """The second of two models."""
        return self._pair(self.models)[1]

    @property
    def totals(self) -> tuple[ComparisonCell, ...]:
        """The total of each model."""
        return self.rows[-1][1:]

    @property
    def parts(self) -> list[str]:
        """The compared part of each model, one copy of it; empty for the whole model."""
        return [formula.root.key if formula.whole_account is not None else "" for formula in self.formulas]

    @property
    def names(self) -> list[str]:
        """The name of each model: its target, with its position if another has the same target, and its part."""
        return self._named([model.target for model in self.models])

    def _named(self, targets: Sequence[str]) -> list[str]:
        whole = list(zip(targets, self.parts, strict=True))
        found = []
        for place, (target, part) in zip(self.positions, whole, strict=True):
            told = [str(place)] * (whole.count((target, part)) > 1) + [part] * bool(part)
            found.append(f"{target} ({', '.join(told)})" if told else target)
        return found

    @property
    def numbers(self) -> Numbers:
        """All known sizes with their numbers."""
        return {size: number for sizes in self.sizes for size, number in sizes.items()}

    @cached_property
    def pairs(self) -> tuple[Comparison, ...]:
        """The comparisons of the first model with each other one, with the letters of the full comparison."""
        if len(self.models) == 2:
            return (self,)
        return tuple(self._beside(other) for other in range(1, len(self.models)))

    def _beside(self, other: int) -> Comparison:
        rows = tuple((role, sides[0], sides[other]) for role, *sides in self.rows)
        return Comparison(
            (self.models[0], self.models[other]),
            (self.formulas[0], self.formulas[other]),
            tuple(row for row in rows if row[0] == "total" or any(side.expr != 0 for side in row[1:])),
            (self.sizes[0], self.sizes[other]),
            (self.renamed_letters[0], self.renamed_letters[other]),
            (self.positions[0], self.positions[other]),
            {place: tie for place, tie in self.ties.items() if place == self.positions[other]},
            self.divisor,
        )

    def _pair(self, each: Sequence[T]) -> tuple[T, T]:
        """Return both of two items. Raises OptionError for more than two models."""
        if len(each) != 2:
            raise OptionError(
                f"{len(each)} models have {len(each) - 1} differences from the first; use .pairs for each"
            )
        return each[0], each[1]

    @cached_property
    def structure(self) -> StructureComparison:
        """How the structure of the first model differs from the second's, in words and in formulas.

        Raises OptionError for more than two models, for traced models, and for models whose towers do not correspond.
        """
        from .structure_difference import compare_structures

        return compare_structures(*self._pair(self.models))

    @cached_property
    def difference(self) -> Expr:
        """The first total minus the other."""
        left, right = self._pair(self.totals)
        return expand(left.expr - right.expr)

    @property
    def difference_leading(self) -> Expr:
        """The terms of the difference that grow fastest."""
        return Leading.of(self.difference).expr

    @property
    def difference_value(self) -> int | None:
        """The value of the difference, or None if a size has no number."""
        left, right = self._pair(self.totals)
        return None if left.value is None or right.value is None else left.value - right.value

    @cached_property
    def ratio(self) -> Tree | None:
        """The first total over the other in lowest terms, or None if the other is 0 for all sizes."""
        left, right = self._pair(self.totals)
        return quotient(left.expr, right.expr)

    @property
    def ratio_leading(self) -> Tree | None:
        """The leading terms of the first total over the leading terms of the other."""
        left, right = self._pair(self.totals)
        return quotient(Leading.of(left.expr).expr, Leading.of(right.expr).expr)

    @property
    def ratio_value(self) -> Fraction | None:
        """The exact value of the ratio, or None if a size has no number or the other total is 0."""
        left, right = self._pair(self.totals)
        return None if left.value is None or not right.value else Fraction(left.value, right.value)

    @cached_property
    def limits(self) -> Mapping[Symbol, Limit]:
        """The limit of the ratio as each size alone tends to infinity."""
        left, right = self._pair(self.totals)
        return FrozenDict(limits(left.expr, right.expr))

    @property
    def bounded_sizes(self) -> frozenset[Symbol]:
        """The sizes that a condition bounds above, so that they cannot grow alone."""
        return frozenset(
            own.get(size, size)
            for formula, own in zip(self.formulas, self.renamed_letters, strict=True)
            for size in bounded(formula.constraints)
        )

    @property
    def tie(self) -> TotalTie | None:
        """The tie that makes the two totals equal, or None."""
        return self.ties.get(self._pair(self.positions)[1])

    @cached_property
    def tied_difference(self) -> Expr | None:
        """The difference while the totals are tied, or None if they are not."""
        return self.tie and self.tie.substitute(self.difference)

    @cached_property
    def tied_ratio(self) -> Expr | None:
        """The ratio while the totals are tied, or None if they are not."""
        left, right = self._pair(self.totals)
        return self.tie and self.tie.substitute(left.expr, right.expr)

    @cached_property
    def crossings(self) -> Mapping[Symbol, tuple[Span, ...]]:
        """For each size, the ranges of its allowed values in which each side is larger, holding the others fixed."""
        return FrozenDict(crossings(self.difference, self.numbers, self._allowed))

    def equal_at(self, size: Symbol) -> tuple[EqualPoint, ...]:
        """Return the values of one size, at least 1, at which the totals are equal, holding the others fixed.

        They need not be integers.
        """
        others = {name: number for name, number in self.numbers.items() if name != size}
        difference = without_common_factor(substitute(without_common_factor(self.difference), others))
        allowed = self._allowed.get(size, AllowedValues())
        return tuple(
            each
            for each in equal_points(difference, size)
            if allowed.low <= each.value and (allowed.high is None or each.value <= allowed.high)
        )

    @cached_property
    def joint(self) -> JointComparison:
        """All totals next to each other: their ratios, and their order as one size varies."""
        return JointComparison(self)

    def allowed_values(self, size: Symbol) -> AllowedValues:
        """Return the values of a size that the conditions of all formulas allow."""
        found = AllowedValues()
        for model, formula, own in zip(self.models, self.formulas, self.renamed_letters, strict=True):
            for base in formula.symbols:
                if own.get(base, base) == size:
                    found &= AllowedValues.of(base, formula.constraints, model.known)
        return found

    @cached_property
    def _allowed(self) -> dict[Symbol, AllowedValues]:
        """The values of each size that the conditions of both formulas allow."""
        allowed: dict[Symbol, AllowedValues] = {}
        for model, formula, own in zip(self._pair(self.models), self.formulas, self.renamed_letters, strict=True):
            for size in formula.symbols:
                name = own.get(size, size)
                found = AllowedValues.of(size, formula.constraints, model.known)
                allowed[name] = allowed.get(name, AllowedValues()) & found
        return allowed

    @cached_property
    def tied_crossovers(self) -> TiedCrossover | None:
        """The crossovers while the totals stay tied; None without a tie, or if the difference has a min or max."""
        return None if self.tie is None else TiedCrossover.of(self.tie, self.difference, self.numbers, self._allowed)

    @cached_property
    def crossovers(self) -> Mapping[Symbol, CrossoverPoint]:
        """For each size, the value at which the totals are equal as a formula, if there is exactly one."""
        sizes = sorted(self.difference.free_symbols, key=print_order)
        return FrozenDict({size: found for size in sizes if (found := zero_of(self.difference, size)) is not None})

    @property
    def all_sizes(self) -> NamedSizes:
        """The sizes of all models, before letters are numbered."""
        return NamedSizes.joined(formula.accepted_sizes for formula in self.formulas)

    def crossover(self, size: Symbol | str) -> Mapping[Symbol, CrossoverPoint]:
        """Return the crossovers of one size by its letter: E finds E_1 and E_2. Raises SizeError if it is absent."""
        base = symbol(str(size), self.all_sizes)
        names = self.letters(base)
        if not names & self.difference.free_symbols:
            one, other = self.names
            raise SizeError(f"{base} is not in the difference between {one} and {other}: {text(self.difference)}")
        return {name: found for name, found in self.crossovers.items() if name in names}

    def growth(self, order: str) -> GrowthComparison:
        """Return the limit of the ratio in a growth order, and the side that is larger in the end.

        The name of a size stands for that size in both models. Raises SizeError if neither total depends on it.
        """
        left, right = self._pair(self.totals)
        read = GrowthOrder.read(order, self.all_sizes) if GrowthOrder.is_spelt(order) else None
        if read is None:
            read = GrowthOrder.infinite(symbol(order.strip(), self.all_sizes))
        used = left.expr.free_symbols | right.expr.free_symbols
        own = {size: sorted(self.letters(size) & used, key=print_order) for size in read.sizes}
        if lacking := [size for size, names in own.items() if not names]:
            one, other = self.names
            known = sorted(used, key=print_order)
            raise SizeError(f"neither {one} nor {other} depends on {listed(lacking)}; they depend on {listed(known)}")
        return GrowthComparison.of(left.expr, right.expr, self.difference, read.renamed(own), self.numbers)

    def check_crossovers(self, names: Iterable[str]) -> None:
        """Raise SizeError for a size that affects no difference."""
        for name in names:
            size = symbol(name, self.all_sizes)
            if not any(pair.letters(size) & pair._deciding for pair in self.pairs):
                differ = set().union(*(pair._deciding for pair in self.pairs))
                backs = {own: base for names in self.renamed_letters for base, own in names.items()}
                known = sorted({backs.get(each, each) for each in differ}, key=print_order)
                has = f"it depends on {listed(known)}" if known else "it depends on no size"
                raise SizeError(f"{name} does not affect the difference between {' and '.join(self.names)}: {has}")

    @property
    def _deciding(self) -> set[Symbol]:
        """The sizes in the difference of two models, and those in their difference at equal totals."""
        return {
            *self.difference.free_symbols,
            *(self.tied_crossovers.sizes if self.tied_crossovers is not None else ()),
        }

    @property
    def unset(self) -> list[Symbol]:
        """The sizes of the run in the totals that have no value."""
        used = set().union(*(side.expr.free_symbols for side in self.totals))
        return sorted((size for size in used - self.numbers.keys() if letter(size).run), key=print_order)

    def letters(self, size: Symbol) -> set[Symbol]:
        """Return the names of a size in the models."""
        return {own.get(size, size) for own in self.renamed_letters}

    @property
    def no_ratio(self) -> str:
        """The reason if there is no ratio, otherwise empty."""
        _, right = self._pair(self.totals)
        return "the second is 0" if right.expr == 0 or right.value == 0 else ""

    @cached_property
    def common_conventions(self) -> Mapping[str, str]:
        """The conventions that all models share."""
        first, *others = (formula.conventions for formula in self.formulas)
        usual = self._usual
        alike = {
            name: each
            for name, each in first.items()
            if all(other.get(name, None if COUNTED in other else usual.get(name, each)) == each for other in others)
        }
        return FrozenDict(alike)

    @property
    def differing_conventions(self) -> list[dict[str, str]]:
        """The conventions of each model that not all models share."""
        usual = self._usual
        return [
            {
                name: choice
                for name, choice in formula.conventions.items()
                if name not in self.common_conventions
                and (name in self.formulas[0].conventions or usual.get(name) != choice)
            }
            for formula in self.formulas
        ]

    @property
    def _usual(self) -> dict[str, str]:
        return {name: each.default for name, each in find_quantity(self.formulas[0].measure.name).choices.items()}

    @property
    def assumed_equal(self) -> list[Symbol]:
        """Letters with a number in only some models, which are assumed to be the same size in all."""
        used = [side.expr.free_symbols for side in self.totals]
        found = set()
        for size in set().union(*used):
            has = [size in sizes for sizes, each in zip(self.sizes, used, strict=True) if size in each]
            if any(has) and not all(has):
                found.add(size)
        return sorted(found, key=print_order)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as ``compare --json`` prints it; a ratio that is not an integer is a string "p/q"."""
        measure = self.formulas[0].measure
        head: dict[str, Any] = {"quantity": measure.name, "unit": measure.unit}
        if self.divisor != 1:
            head["per"] = code(self.divisor)
        head["conventions"] = self.common_conventions
        sides = ("left", "right")
        if any(self.parts):
            head["parts"] = dict(zip(sides, self.parts, strict=True)) if len(self.models) == 2 else self.parts
        options = [model.component.changed_options for model in self.models]
        sizes = [{str(size): number for size, number in each.items()} for each in self.sizes]
        if len(self.models) == 2:
            if any(self.differing_conventions):
                head["conventions_of"] = dict(zip(sides, self.differing_conventions, strict=True))
            return {
                "left": self.left.target,
                "right": self.right.target,
                **head,
                "options": dict(zip(sides, options, strict=True)),
                "sizes": dict(zip(sides, sizes, strict=True)),
                "rows": [
                    {"part": role, **{side: each.to_json() for side, each in zip(sides, both, strict=True)}}
                    for role, *both in self.rows
                ],
                **self._differs(),
            }
        if any(self.differing_conventions):
            head["conventions_of"] = self.differing_conventions
        return {
            "models": [model.target for model in self.models],
            **head,
            "options": options,
            "sizes": sizes,
            "rows": [{"part": role, "models": [each.to_json() for each in sides]} for role, *sides in self.rows],
            **self.joint.to_json(),
            "pairs": [
                {
                    "left": pair.left.target,
                    "right": pair.right.target,
                    "places": list(pair.positions),
                    **pair._differs(),
                }
                for pair in self.pairs
            ],
        }

    def _differs(self) -> dict[str, Any]:
        """Return the JSON data of a comparison of two models."""
        ratio, leading, value = self.ratio, self.ratio_leading, self.ratio_value
        found = {
            "difference": code(self.difference),
            "difference_leading": code(self.difference_leading),
            "difference_value": self.difference_value,
            "ratio": None if ratio is None else code(ratio),
            "ratio_leading": None if leading is None else code(leading),
            "ratio_value": json_number(value),
            "no_ratio": self.no_ratio or None,
            "limits": {str(size): each.to_json() for size, each in self.limits.items()},
            "crossover": {
                str(size): {
                    side: [[each.first, each.last] for each in spans if each.sign == sign]
                    for side, sign in (("left", 1), ("equal", 0), ("right", -1))
                }
                for size, spans in self.crossings.items()
            },
            "equal_at": {str(size): [each.to_json() for each in self.equal_at(size)] for size in self.crossings},
            "crossover_formulas": {
                str(size): {"formula": code(each.shown), "above": "left" if each.above > 0 else "right"}
                for size, each in self.crossovers.items()
            },
        }
        if self.tie is None:
            return found
        under = {"difference": self.tied_difference, "ratio": self.tied_ratio}
        return {
            **found,
            "tied": {
                **self.tie.to_json(),
                **{name: None if expr is None else code(expr) for name, expr in under.items()},
                **(
                    self.tied_crossovers.to_json()
                    if self.tied_crossovers is not None
                    else {"crossover": None, "crossover_formulas": None}
                ),
            },
        }

    def table(self) -> dict[str, list[Any]]:
        """Return the rows by role, with a formula and a number for each model."""
        columns: dict[str, list[Any]] = {"part": [role for role, *_ in self.rows]}
        columns |= {name: [sides[place].expr for _, *sides in self.rows] for place, name in enumerate(self.names)}
        return columns | {
            f"{name} value": [sides[place].value for _, *sides in self.rows] for place, name in enumerate(self.names)
        }

    @former(by="x")
    def plot(self, path: str | None = None, *, x: str = "") -> Plot:
        """Plot the rows side by side, or the totals against one size, with their crossovers.

        With ``x``, that size is the x-axis and has the same value in all models.
        """
        return self._put(path, x)

    def _picture(self, by: str) -> Plot:
        from .result_plots.comparison_plot import draw

        return draw(self, by)

    def __repr__(self) -> str:
        amounts = (code(side.expr) if side.value is None else f"{side.value:,}" for side in self.totals)
        each = [f"of {model.target}, {amount}" for model, amount in zip(self.models, amounts, strict=True)]
        return f"<{self.formulas[0].measure.name} {', '.join(each[:-1])}, and {each[-1]}>"

    def rank_lines(self) -> list[Line]:
        """Return the number of ranks of each model if the values are per rank."""
        names = self._named([model.name for model in self.models])
        sides = [
            (name, formula.ranks, model.known)
            for name, model, formula in zip(names, self.models, self.formulas, strict=True)
        ]
        return ranks.stated_of_each(sides)

    def to_blocks(self, crossovers: Sequence[str] = (), *, exact: bool = False, growth: str = "") -> list[BriefBlock]:
        """Return the totals, the parts, the differences, the ratios and the crossovers of the given sizes.

        With ``exact``, fractions are printed next to their decimal values. ``growth`` is a growth order, such as
        ``"S >> E"``, for the limit of the ratio.
        """
        from .comparison_blocks import brief

        return brief(self, crossovers, exact, growth)

    # Former names
    own = Alias("renamed_letters")
    places = Alias("positions")
    special = Alias("differing_conventions")
    shared = Alias("common_conventions")
    loose = Alias("assumed_equal")
    held = Alias("tied_crossovers")
    per = Alias("divisor")
