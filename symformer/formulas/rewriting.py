"""Other forms of a formula: factored, collected, partial fractions, series, leading terms and limits, for printing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sympy import Add, Expr, Integer, Max, Min, fraction, oo, terms_gcd

from ..language.errors import SizeError, SymformerError, quoted
from ..language.frozen import Immutable
from ..language.notation.display_tree import (
    Applied,
    FractionNode,
    Minus,
    Number,
    Power,
    Product,
    Size,
    Sum,
    Tree,
    ordered_terms,
    tree,
)
from ..language.notation.latex import latex
from ..language.notation.text import code, json_number, percent, text, to_digits
from ..output.blocks import BriefBlock, Equation, Line, Math, Paragraph
from ..output.chain import Chain
from ..output.notebook import Shown
from .growth_order import GrowthOrder
from .leading import Leading
from .series import PowerSeries

if TYPE_CHECKING:
    from .formula import Formula

MAX_REMAINDER = 100  # characters of the remainder of a series
EQUAL, ALIKE, TENDS = "=", "~", "->"
_LATEX = {EQUAL: "=", ALIKE: r"\sim", TENDS: r"\to"}


@dataclass(frozen=True, eq=False)
class Rewriting(Immutable, Shown):
    """A form of a formula.

    Parameters
    ----------
    formula
        The formula.
    form
        The form as requested, such as ``collect L``.
    relation
        ``=``; ``~`` if it is the leading part; ``->`` if it is the limit.
    expr
        The form as a SymPy expression; ``sympy.oo`` or ``-sympy.oo`` for an infinite limit.
    shown
        Its terms in the order in which they are printed.
    order
        The growth order of a leading part, a limit or a series.
    remainder
        The difference between the formula and a series or a leading part.

    """

    formula: Formula
    form: str
    relation: str
    expr: Expr
    shown: Tree
    order: GrowthOrder | None = None
    remainder: Expr | None = None
    series: PowerSeries | None = None

    @property
    def is_identity(self) -> bool:
        """Whether both sides are equal: not a leading part, a limit, or a series with a remainder."""
        return self.relation == EQUAL and self._error is None

    def latex(self) -> str:
        """Return LaTeX mathematics: both sides, and the growth order of a limit or a leading part."""
        end = f" + {latex(self._error)}" if self._error is not None else ""
        when = rf" \quad ({self.order.latex()})" if self.order is not None and self.relation != EQUAL else ""
        return f"{latex(self.formula.label)} {_LATEX[self.relation]} {self._spelt(latex, chr(92) + 'infty')}{end}{when}"

    def text(self) -> str:
        """Return readable Unicode."""
        end = f" + {text(self._error)}" if self._error is not None else ""
        when = f" as {self.order}" if self.order is not None and self.relation != EQUAL else ""
        return f"{text(self.formula.label)} {self.relation} {self._spelt(text, 'infinity')}{end}{when}"

    def code(self) -> str:
        """Return plain arithmetic over the alphabet, without the left-hand side."""
        return self._spelt(code, "oo")

    __str__ = text

    def __repr__(self) -> str:
        return f"<{self.formula.id}, {self.form}: {self.code()}>"

    def _spelt(self, spell: Callable[[Tree], str], infinity: str) -> str:
        if self.expr in (oo, -oo):
            return infinity if self.expr == oo else f"-{infinity}"
        return spell(self.shown)

    @property
    def _error(self) -> Tree | None:
        """The order of the remainder of a series, as O(1/L³); None if it is exact."""
        if self.series is None or self.series.remainder == 0:
            return None
        power = self.series.order + 1
        below = Size(self.series.size) if power == 1 else Power(Size(self.series.size), power)
        return Applied("O", (FractionNode(Number(1), below),))

    def value(self) -> Fraction | None:
        """Return the exact value at the sizes of the model, or None if a size has no value or it is not finite."""
        if self.expr in (oo, -oo):
            return None
        try:
            return Fraction(self.formula.combined(self.form, self.expr, self.formula.unit).value())
        except SymformerError:
            return None

    def to_json(self) -> dict[str, Any]:
        """Return the form as JSON data."""
        found: dict[str, Any] = {
            "form": self.form,
            "relation": self.relation,
            "formula": self.code(),
            "latex": self.latex(),
        }
        if self.order is not None:
            found["order"] = str(self.order)
        if self.remainder is not None and (self.series is None or self._shows_remainder):
            found["remainder"] = code(self.remainder)
        return {**found, "value": json_number(self.value())}

    def to_blocks(self) -> list[BriefBlock]:
        """Return an equation that is checked as an identity, or a sentence with the leading part or the limit."""
        label = self.formula.label
        if self.relation == EQUAL:
            shown = self.shown
            terms = shown.terms if isinstance(shown, Sum) else (shown,)
            if self._shows_remainder and self.remainder is not None:
                shown = Sum((*terms, tree(self.remainder)))
            elif self._error is not None:
                return [Equation(Chain((label,), (Sum((*terms, self._error)),))), *map(Paragraph, self._series_lines())]
            chain = Chain((label,), (shown,))
            if not self._in_the_end:
                chain.prove(self.formula.relations)
            return [Equation(chain), *map(Paragraph, self._series_lines())]
        when: Line = ["As ", *self.order.line, ", "] if self.order is not None else []
        if self.relation == ALIKE:
            return [
                Paragraph([*when, "the leading part of ", Math(label), " is ", Math(self.shown), *self._share(), "."])
            ]
        infinite = self.expr in (oo, -oo)
        to: Line = [f"{'minus ' * (self.expr == -oo)}infinity"] if infinite else [Math(self.shown)]
        value = self.value()
        here = f", which is {_near(value)} with these sizes" if value is not None and self.expr.free_symbols else ""
        return [Paragraph([*when, Math(label), " tends to ", *to, here, "."])]

    @property
    def _shows_remainder(self) -> bool:
        """Whether the remainder of a series is short enough to be printed, and its identity to be checked."""
        if self.series is None or self.series.remainder == 0:
            return False
        return len(code(self.series.remainder)) <= MAX_REMAINDER

    @property
    def _in_the_end(self) -> bool:
        """Whether a series holds only for large sizes, because it contains one argument of a max or min."""
        return self.series is not None and any(
            self.series.size in each.free_symbols for each in self.formula.expanded.atoms(Min, Max)
        )

    def _series_lines(self) -> list[Line]:
        if self.series is None:
            return []
        size = self.series.size
        said: list[Line] = []
        if self._in_the_end:
            said.append(["This holds for large ", Math.of(size), ", where each minimum and maximum has one argument."])
        if self._shows_remainder:
            said.append(
                [
                    "The last term is the exact remainder, of the order of ",
                    Math.of(1 / size ** (self.series.order + 1)),
                    ".",
                ]
            )
        return said

    def _share(self) -> Line:
        """Return how much of the formula the leading part omits at the sizes of the model."""
        try:
            whole, part = Fraction(self.formula.value()), self.value()
        except SymformerError:
            return []
        if part is None or not whole or part == whole:
            return []
        left = 1 - part / whole
        if left > 1:
            return [", which has the opposite sign with these sizes"]
        much = f"omits {percent(left)} of it" if left > 0 else f"exceeds it by {percent(-left)}"
        return [f", which {much} with these sizes"]


def _near(value: Fraction) -> str:
    if value.denominator == 1:
        return f"{value.numerator:,}"
    return f"about {to_digits(value, max(4, len(str(abs(int(value)))) + 2)):,f}"


def rewritten(formula: Formula, form: str) -> Rewriting:
    """Return a form of a formula. Raises SizeError for an unknown form, or if the formula does not have it."""
    if not isinstance(form, str):
        raise SizeError(f"{form!r} is not a form; {_KNOWN}")
    word, _, rest = form.strip().partition(" ")
    if word not in FORMS or (word != "factor") != bool(rest.strip()):
        raise SizeError(f"{quoted(form)} is not a form of a formula; {_KNOWN}")
    if word == "leading" and ">" in rest and ">>" not in rest:
        raise SizeError(f"{quoted(form)} has no growth order; write >> as in 'leading S >> E'")
    if word == "series" and rest.strip().isdecimal():
        raise SizeError(f"{quoted(form)} names no size; write one before the number of terms, as in 'series L 3'")
    return FORMS[word](formula, form.strip(), rest.strip())


def _factor(formula: Formula, form: str, rest: str) -> Rewriting:
    expr = formula.factor()
    return Rewriting(formula, form, EQUAL, expr, tree(expr))


def _collect(formula: Formula, form: str, rest: str) -> Rewriting:
    expr = formula.collect(*rest.replace(",", " ").split())
    above, below = fraction(expr)
    shown = _brackets(above) if below == 1 else FractionNode(_brackets(above), _brackets(below))
    return Rewriting(formula, form, EQUAL, expr, shown)


def _brackets(expr: Expr) -> Tree:
    """Return a sum of products, each with its bracket last and the common factors of the bracket in front."""
    terms: list[Tree] = []
    for term in ordered_terms(expr):
        outer, inner = term.as_independent(Add, as_Add=False)
        common, bracket = terms_gcd(inner).as_independent(Add, as_Add=False)
        if bracket == 1 or not bracket.is_Add or outer * common == 1:
            terms.append(tree(term))
            continue
        before = tree(outer * common)
        front = before.operand if isinstance(before, Minus) else before
        product = Product((*(front.factors if isinstance(front, Product) else (front,)), tree(bracket)))
        terms.append(Minus(product) if isinstance(before, Minus) else product)
    flat = [one for each in terms for one in (each.terms if isinstance(each, Sum) else (each,))]
    return flat[0] if len(flat) == 1 else Sum(tuple(flat))


def _quotient(expr: Expr) -> Tree:
    """Return a quotient with common factors in front of its brackets."""
    above, below = fraction(expr)
    if isinstance(above, Add) and (shown := _brackets(terms_gcd(above))) and not isinstance(shown, Sum):
        return shown if below == 1 else FractionNode(shown, tree(below))
    return tree(expr)


def _apart(formula: Formula, form: str, rest: str) -> Rewriting:
    expr = formula.apart(rest)
    return Rewriting(formula, form, EQUAL, expr, tree(expr))


def _series(formula: Formula, form: str, rest: str) -> Rewriting:
    size, _, order = rest.partition(" ")
    if order and not order.strip().isdecimal():
        raise SizeError(
            f"{quoted(order)} in {quoted(form)} is not the order of a series; write one such as 'series {size} 3'"
        )
    found = formula.series(size, int(order)) if order else formula.series(size)
    terms = tuple(map(_quotient, found.terms))
    shown = Sum(terms) if len(terms) > 1 else terms[0] if terms else tree(Integer(0))
    order_ = GrowthOrder.infinite(found.size)
    return Rewriting(formula, form, EQUAL, found.expr, shown, order_, found.remainder, found)


def _leading(formula: Formula, form: str, rest: str) -> Rewriting:
    order = formula.growth_order(rest)
    found: Leading = formula.leading(order)
    return Rewriting(formula, form, ALIKE, found.expr, tree(found.expr), order, found.rest)


def _limit(formula: Formula, form: str, rest: str) -> Rewriting:
    order = formula.growth_order(rest)
    found = formula.limit(order)
    if found in (oo, -oo):
        return Rewriting(formula, form, TENDS, found, tree(Integer(0)), order)
    return Rewriting(formula, form, TENDS, found.expanded, tree(found.expanded), order)


FORMS: dict[str, Callable[[Formula, str, str], Rewriting]] = {
    "factor": _factor,
    "collect": _collect,
    "apart": _apart,
    "series": _series,
    "leading": _leading,
    "limit": _limit,
}
_KNOWN = "write factor, collect E, apart L, series L, series L 3, leading S >> E, or limit L"
