"""The paragraphs on totals that were made equal, on a quotient, and on its limit as one size grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction

from sympy import Symbol

from ..algebra.equal_totals import TotalTie
from ..algebra.model_comparison import Comparison
from ..algebra.quotient_limits import Limit
from ..formulas.derivation import Chain
from ..formulas.factorization import factored
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.notation.display_tree import Tree, tree, value
from ..language.notation.text import text
from ..language.sizes import Numbers
from .blocks import Block, Equation, Heading, Line, Math, Paragraph, Piece
from .compared_models import ComparedModel
from .sentences import listed, maybe

LONG = 72  # characters of a numerator or denominator that fit a page
SHORT = 40  # characters of a formula in a sentence


def tied(tie: TotalTie, found: Comparison, sides: Sequence[ComparedModel], id: str) -> list[Block]:
    """Return the size that makes the totals equal: as a formula, as an exact value, and the nearest integers."""
    first, other = sides
    said: list[Block] = [Heading(1, [f"At equal {tie.measure.title}"])]
    opens: list[Piece] = [*other.called, f" has as many {tie.measure.title} as ", *first.called]
    exact: list[Piece] = [Math.of(tie.size), " = ", exactly(tie.exact)] if tie.exact is not None else []
    line: list[Piece] = []
    if _fits(tie.shown):
        said += [Paragraph([*opens, " if"]), Equation(Chain((tree(tie.size),), (tie.shown,)), id=id)]
        line += ["At these sizes, ", *exact, "."] if exact else []
    elif exact:
        line += [*opens, " if ", *exact, "."]
    for number, more in tie.beside:
        if number == tie.exact or more is None:
            continue
        line += [*maybe(line, " "), "At ", Math.of(tie.size), f" = {number:,}, ", *first.called]
        line += [f" has {abs(more):,} {'more' if more > 0 else 'fewer'}."]
    if tie.chosen is not None:
        line += [*maybe(line, " "), "All numbers here use ", Math.of(tie.size), f" = {tie.chosen:,}."]
    for what, expr in (("difference", found.tied_difference), ("ratio", found.tied_ratio)):
        if expr is not None and len(text(tree(expr))) <= SHORT:
            line += [*maybe(line, " "), f"After substituting this formula, the {what} is ", Math.of(expr), "."]
    return [*said, Paragraph(line)] if line else said


def growing(limits: Mapping[Symbol, Limit], numbers: Numbers, what: str = "ratio") -> list[Block]:
    """Return the limits of a ratio as one size grows and the others stay fixed, as far as they are short."""
    goes: dict[str, tuple[Limit, list[Line]]] = {}
    for size, each in limits.items():
        if each.shown is None or _fits(each.shown):
            goes.setdefault(each.to_json(), (each, []))[1].append([Math.of(size)])
    clauses: list[Line] = []
    for each, sizes in goes.values():
        number = each.value(numbers)
        to: list[Piece] = ["to infinity"] if each.kind == "unbounded" else ["to 0"]
        if each.shown is not None:
            to = ["to ", Math(each.shown)]
            if number is not None and value(each.shown).free_symbols:
                to += [f" ({exactly(number)} here)"]
        clauses.append([*to, " with ", *_or(sizes)])
    if not clauses:
        return []
    return [Paragraph([f"As one size grows and the others stay fixed, the {what} tends ", *listed(*clauses), "."])]


def bracketed(shown: Tree) -> Tree | None:
    """Return a quotient with its common factors in front of brackets, or None if it is wider than a page."""
    sides = (shown.numerator, shown.denominator) if isinstance(shown, Quotient) else (shown,)
    brackets = [factored(value(side)) for side in sides]
    if any(len(text(each)) > LONG for each in brackets):
        return None
    return Quotient(*brackets) if len(brackets) == 2 else brackets[0]


def _or(sizes: Sequence[Line]) -> list[Piece]:
    line: list[Piece] = []
    for place, size in enumerate(sizes):
        line += [*([" or " if place == len(sizes) - 1 else ", "] if place else []), *size]
    return line


def _fits(shown: Tree) -> bool:
    sides = (shown.numerator, shown.denominator) if isinstance(shown, Quotient) else (shown,)
    return all(len(text(each)) <= LONG for each in sides)


def exactly(number: Fraction) -> str:
    """Return a number as an integer, or as a fraction with its value to two decimal places."""
    if number.denominator == 1:
        return f"{number.numerator:,}"
    near = Context(prec=40).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{number.numerator:,}/{number.denominator:,} ≈ {near:,.2f}"
