"""Quotients of two quantities of one model, such as the training FLOPs per parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sympy import Expr, Symbol

from ..architectures import composed_model
from ..formulas import ranks
from ..formulas.formula import Formula
from ..formulas.leading import Leading
from ..formulas.totals import definitions
from ..language.aliases import Alias, former
from ..language.errors import OptionError, SizeError, UnknownNameError
from ..language.frozen import FrozenDict
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.notation.display_tree import Label, Tree, sizes_of, value
from ..language.notation.text import code, json_number
from ..language.symbols import letter, print_order
from ..language.target import AnyTarget
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import (
    Block,
    BriefBlock,
    Equation,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    Table,
    formulas_in,
    listed,
    maybe,
    setting,
)
from ..output.chain import Chain
from ..quantities import quantity as find_quantity
from ..quantities.spellings import spelled
from .equal_totals import model_of
from .quotient_blocks import bracketed, decimal, limits_of
from .quotient_limits import Limit, bounded, limits, quotient
from .result import Answer
from .role_totals import has_only_totals


@dataclass(frozen=True, repr=False)
class QuantityRatio(Answer):
    """The quotient of two formulas of one model."""

    numerator: Formula
    denominator: Formula

    @property
    def model(self) -> Model:
        """The model of both formulas."""
        return model_of(self.numerator)

    @property
    def part(self) -> str:
        """The part of the model, one copy, that both formulas describe; empty for the whole model."""
        return self.numerator.root.key if self.numerator.whole_account is not None else ""

    @cached_property
    def sides(self) -> tuple[Expr, Expr]:
        """Both polynomials, with a total such as L in place of its summands if they occur in neither."""
        both = (self.numerator, self.denominator)
        whole = (
            [each.display_expr for each in both]
            if all(map(has_only_totals, both))
            else [each.expanded for each in both]
        )
        kinds = {kind for each in both for total in each.totals for kind in each.relations[total].free_symbols}
        used = whole[0].free_symbols | whole[1].free_symbols
        if used & kinds and used & (
            self.numerator.totals | self.denominator.totals
        ):  # a total on one side, summands on the other
            whole = [each.expanded for each in both]
        return whole[0], whole[1]

    @property
    def unit(self) -> str:
        """The unit of the quotient: ``FLOPs/element``."""
        return f"{self.numerator.measure.unit}/{self.denominator.measure.unit.removesuffix('s')}"

    @cached_property
    def ratio(self) -> Tree:
        """The quotient in lowest terms."""
        found = quotient(*self.sides)
        if found is None:
            raise SizeError(f"{self.denominator.id} is 0 for all sizes, so the ratio is undefined")
        return found

    @cached_property
    def leading(self) -> Tree:
        """The leading terms of the numerator over the leading terms of the denominator."""
        found = quotient(*(Leading.of(side).expr for side in self.sides))
        return self.ratio if found is None else found

    @cached_property
    def value(self) -> Fraction | None:
        """The exact value, or None if a size has no number or the denominator is 0."""
        known = self.model.known
        if not {*self.numerator.symbols, *self.denominator.symbols} <= known.keys():
            return None if value(self.ratio).free_symbols else _rational(value(self.ratio))
        below = self.denominator.value()
        return Fraction(self.numerator.value(), below) if below else None

    @property
    def unset(self) -> list[Symbol]:
        """The sizes of the run in the quotient that have no value."""
        used = value(self.ratio).free_symbols - self.model.known.keys()
        return sorted((size for size in used if letter(size).run), key=print_order)

    @property
    def missing(self) -> list[Symbol]:
        """The sizes without a number."""
        needed = {*self.numerator.symbols, *self.denominator.symbols} - self.model.known.keys()
        return sorted(needed, key=print_order)

    @cached_property
    def limits(self) -> Mapping[Symbol, Limit]:
        """The limit of the quotient as each size alone tends to infinity."""
        return FrozenDict(limits(*self.sides))

    @property
    def bounded_sizes(self) -> frozenset[Symbol]:
        """The sizes that a condition bounds above, so that they cannot grow alone."""
        return bounded((*self.numerator.constraints, *self.denominator.constraints))

    def rank_lines(self) -> list[Line]:
        """Return the number of ranks of each quantity if the values are per rank."""
        sides = [(each.measure.name, each.ranks, self.model.known) for each in (self.numerator, self.denominator)]
        return ranks.stated_of_each(sides)

    def to_json(self) -> dict[str, Any]:
        """Return the quotient as ``compare --divide-by --json`` prints it; a fraction is a string "p/q"."""
        exact = self.value
        totals = {
            str(total): code(self.numerator.relations[total])
            for total in sorted(self.numerator.totals, key=print_order)
            if total in value(self.ratio).free_symbols
        }
        return {
            "target": self.model.target,
            **({"part": self.part} if self.part else {}),
            "quantity": self.numerator.measure.name,
            "over": self.denominator.measure.name,
            "unit": self.unit,
            **self._ranks_json,
            "conventions": self.conventions,
            "options": self.model.component.changed_options,
            "symbols": {str(size): number for size, number in self.model.known.items()},
            **({"totals": totals} if totals else {}),
            "ratio": code(self.ratio),
            "ratio_leading": code(self.leading),
            "ratio_value": json_number(exact),
            "missing": [] if exact is not None else list(map(str, self.missing)),
            "limits": {str(size): each.to_json() for size, each in self.limits.items()},
        }

    @property
    def _ranks_json(self) -> dict[str, Any]:
        """The numbers of ranks as JSON data, by quantity if they differ between the two."""
        both = [ranks.facts(each.ranks, self.model.known).get("ranks") for each in (self.numerator, self.denominator)]
        if both[0] == both[1]:
            return {"ranks": both[0]} if both[0] else {}
        return {
            "ranks": {
                each.measure.name: one for each, one in zip((self.numerator, self.denominator), both, strict=True)
            }
        }

    def table(self) -> dict[str, list[Any]]:
        """Return one row: the quotient, its leading terms and its value."""
        return {
            "model": [self.model.target],
            "ratio": [value(self.ratio)],
            "leading": [value(self.leading)],
            "value": [self.value],
        }

    @former(by="x")
    def plot(self, path: str | None = None, *, x: str = "") -> Plot:
        """Plot the quotient and its limit against one size.

        By default it is the only size without a number, or else the sequence length or the number of layers.
        """
        return self._put(path, x)

    def _picture(self, by: str) -> Plot:
        from .result_plots.ratio_plot import draw

        return draw([self], by)

    def __repr__(self) -> str:
        return code(self.ratio)

    def to_blocks(self) -> list[BriefBlock]:
        """Return the quotient, its value, its leading terms and limits, the conventions and the symbols."""
        name = self.model.name + (f" ({self.part})" if self.part else "")
        titles = f"{self.numerator.measure.title} over {self.denominator.measure.title}"
        used = value(self.ratio).free_symbols
        options = [[setting(name, choice)] for name, choice in self.model.component.changed_options.items()]
        found: list[BriefBlock] = [
            Heading(1, [f"{name}: {titles}, in {self.unit}"]),
            *self.result(),
            *(Paragraph([setting(name, choice)]) for name, choice in self.conventions.items()),
            *([Paragraph(["with ", *listed(*options)])] if options else []),
            *map(Paragraph, self.rank_lines()),
            *map(Paragraph, definitions(self.numerator.relations, self.numerator.totals & used)),
        ]
        return [*found, *self.symbol_table(found)]

    @property
    def conventions(self) -> dict[str, str]:
        """The conventions of both quantities."""
        return {**self.denominator.conventions, **self.numerator.conventions}

    def result(self, id: str = "", most: int | None = None) -> list[BriefBlock]:
        """Return the quotient as an equation, its value, its leading terms and its limits.

        Parameters
        ----------
        id
            The id of the equation in a document.
        most
            The number of characters of a formula that fits the page, or None for the terminal and notebooks.

        """
        labels = [Label(each.measure.letter, "", each.expanded) for each in (self.numerator, self.denominator)]
        exact, shown = self.value, bracketed(self.ratio, most)
        found: list[BriefBlock] = []
        line: list[Piece] = []
        if shown is not None:
            found.append(Equation(Chain((Quotient(*labels),), (shown,)), key=True, id=id))
            if exact is not None and value(shown).free_symbols:
                line += [f"With these sizes, it is {decimal(exact)} {self.unit}."]
        elif exact is not None:
            line += ["With these sizes, ", Math(Quotient(*labels)), f" is {decimal(exact)} {self.unit}."]
        leading = bracketed(self.leading, most)
        if leading is not None and self.leading != self.ratio:
            line += [*maybe(line, " "), "The ratio of the leading terms is ", Math(leading), "."]
        found += [Paragraph(line)] if line else []
        return [*found, *limits_of(self.limits, self.model.known, most, self.bounded_sizes)]

    def symbol_table(self, shown: Sequence[Block]) -> list[BriefBlock]:
        """Return the table of the symbols in these blocks, with their values."""
        known = self.model.known
        used = {size for each in formulas_in(shown) for size in sizes_of(each)}
        rows: list[list[Line]] = [
            [[Math.of(size)], [self.model.meaning(size)], [f"{known[size]:,}"] if size in known else []]
            for size in sorted(used, key=print_order)
        ]
        return [Table([["Symbol"], ["Meaning"], ["Value"]], rows, "clr", caption=["Symbols."])] if rows else []

    # Former names
    above = Alias("numerator")
    below = Alias("denominator")


@former(quantity="numerator", divisor="denominator")
def ratio(model: Model | AnyTarget, numerator: str, denominator: str, **conventions: str) -> QuantityRatio:
    """Divide one quantity of a model by another one.

    Parameters
    ----------
    model
        A model or its name.
    numerator, denominator
        The two quantities.
    conventions
        Conventions, each applied to every quantity that has it.

    Returns
    -------
    QuantityRatio
        The quotient, its leading terms, its value and its limits.

    Raises
    ------
    OptionError
        If a quantity is a ratio itself.

    Examples
    --------
    >>> ratio("gpt2", "flops", "params", attention="causal")
    (2*B*S**2*L + 24*B*S*L*E + 2*B*S*L + 2*B*S*V)/(12*L*E + 13*L + V + P + 2)

    """
    found = composed_model(model)
    known = [find_quantity(name).choices for name in (numerator, denominator)]
    conventions = spelled(conventions, {**known[0], **known[1]})
    for name in conventions:
        if not any(name in each for each in known):
            raise UnknownNameError(f"convention of {numerator} and {denominator}", name, {**known[0], **known[1]})
    formulas = []
    for name, choices in zip((numerator, denominator), known, strict=True):
        formula = found.formula(name, **{key: each for key, each in conventions.items() if key in choices})
        if not formula.additive:
            raise OptionError(f"{name} is a {formula.form} itself; divide quantities that add up over parts")
        formulas.append(formula)
    return QuantityRatio(formulas[0], formulas[1])


over = ratio  # its former name


def _rational(expr: Any) -> Fraction:
    return Fraction(int(expr.p), int(expr.q))
