"""The sides of a comparison: the name of each, and its formula with indices on letters that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sympy import Expr, Symbol, expand

from ..formulas.factorization import factored
from ..formulas.formula import Formula, affects_formula
from ..language.notation.display_tree import FractionNode, Label, Tree, tree, value
from ..language.symbols import numbered, print_order
from ..ledger.facts import ONE
from ..models.model import Model
from ..output.blocks import Code, Line, Math, Piece

if TYPE_CHECKING:
    from .model_comparison import Comparison

_NAMED = 20  # characters of a name in a column header; a longer name is replaced by its number
_SAID = 40  # the same in a sentence


@dataclass(frozen=True)
class ComparedModel:
    """One side of a comparison, in which letters that mean another size on another side have an index."""

    number: int
    model: Model
    formula: Formula
    own: Mapping[Symbol, Symbol]
    twin: bool = False  # True if another side has the same name
    per: Expr = ONE  # the divisor of all amounts

    @property
    def name(self) -> str:
        part = f" ({self.formula.root.key})" if self.formula.whole_account is not None else ""
        return self.model.name + part

    @property
    def head(self) -> Line:
        """The column header."""
        if len(self.name) > _NAMED:
            return [f"({self.number})"]
        return [Code(self.name), *([f" ({self.number})"] if self.twin else [])]

    @property
    def called(self) -> list[Piece]:
        """Its name in a sentence."""
        named: list[Piece] = [Code(self.name), " "] if len(self.name) <= _SAID else []
        return [*named, f"({self.number})"]

    @property
    def named(self) -> Line:
        """A sentence with its name if ``called`` omits it; otherwise empty."""
        return [] if len(self.name) <= _SAID else [f"({self.number}) is ", Code(self.name), "."]

    @property
    def titled(self) -> str:
        """Its name in a title."""
        return self.name if len(self.name) <= _SAID else f"{self.name[: _SAID - 1]}…"

    @property
    def label(self) -> Label:
        """The label of the undivided quantity, such as U of the cache."""
        return Label(self.formula.measure.letter, str(self.number), self.renamed(self.formula.expanded))

    @property
    def amount(self) -> Tree:
        """The compared label: U, or U/(BC) if all amounts are divided by BC."""
        return self.label if self.per == 1 else FractionNode(self.label, tree(self.per))

    def renamed(self, expr: Expr) -> Expr:
        """Return an expression with the letters of this side."""
        return expr.xreplace(self.own)

    def line(self, line: Line) -> Line:
        """Return a line with the letters of this side."""
        return [Math.of(self.renamed(value(each.shown))) if isinstance(each, Math) else each for each in line]

    @property
    def mentioned(self) -> set[Symbol]:
        """The sizes in its formula or in the formula's conditions."""
        formula = self.formula
        own = {*formula.symbols, *(size for rule in formula.constraints for size in rule.symbols)}
        related = [{size, *value.free_symbols} for size, value in formula.relations.items()]
        required = [rule.symbols for rule in formula.constraints if affects_formula(rule, formula)]
        used = {*formula.symbols, *formula.display_expr.free_symbols}
        return used.union(*(each for each in related if each & own), *required)

    @property
    def written(self) -> Expr:
        """Its formula, in which a symbol for a total replaces the sum."""
        return self.renamed(expand(self.formula.display_expr / self.per))

    @property
    def relations(self) -> dict[Symbol, Expr]:
        """The relations of its formula."""
        return {self.own.get(size, size): self.renamed(each) for size, each in self.formula.relations.items()}

    def gathered(self, expr: Expr) -> Expr:
        """Return an expression in the letters of this side, with the kinds of layers gathered."""
        theirs = expr.xreplace({name: size for size, name in self.own.items()})
        return self.renamed(self.formula.collect_totals(theirs))

    @property
    def steps(self) -> Sequence[Tree]:
        """Its formula in factored form and as a polynomial."""
        return [*dict.fromkeys((factored(self.written), tree(self.written)))]


def sides_of(found: Comparison) -> tuple[ComparedModel, ...]:
    """Return all sides; letters that are only in conditions also get an index if their values differ."""
    each = zip(found.positions, found.models, found.formulas, found.renamed_letters, strict=True)
    targets = [model.target for model in found.models]
    sides = [replace(ComparedModel(*one), twin=targets.count(one[1].target) > 1, per=found.divisor) for one in each]
    own: list[dict[Symbol, Symbol]] = [dict(side.own) for side in sides]
    spelled = {size.name for side in sides for size in side.mentioned}
    numbered_already = set().union(*own)
    for size in sorted(set().union(*(side.mentioned for side in sides)) - numbered_already, key=print_order):
        having = [side for side in sides if size in side.mentioned]
        if all(_same(size, having[0], other) for other in having[1:]):
            continue
        for side, names in zip(sides, own, strict=True):
            if side in having and size not in side.formula.expanded.free_symbols:
                names[size] = numbered(size, side.number, spelled)
    return tuple(replace(side, own=names) for side, names in zip(sides, own, strict=True))


def _same(size: Symbol, first: ComparedModel, second: ComparedModel) -> bool:
    """Return True if a letter means the same size on both sides, judged by its relations and values."""
    relations = [each.formula.relations.get(size) for each in (first, second)]
    numbers = [each.model.known.get(size) for each in (first, second)]
    loose = None in numbers and all(size in each.formula.expanded.free_symbols for each in (first, second))
    return relations[0] == relations[1] and (loose or numbers[0] == numbers[1])
