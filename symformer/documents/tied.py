"""What a document says of totals that were made equal, of a quotient, and of where it goes as one size grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction

from sympy import Symbol

from ..algebra.comparison import Comparison
from ..algebra.quotient import Limit
from ..algebra.tie import Tie
from ..formulas.derivation import Chain
from ..formulas.factored import factored
from ..language.notation.text import text
from ..language.notation.tree import Fraction as Quotient
from ..language.notation.tree import Tree, tree, value
from ..language.sizes import Numbers
from .blocks import Block, Equation, Heading, Line, Math, Paragraph, Piece
from .sentences import listed, maybe
from .sides import Side

LONG = 72  # characters of what stands above or below a line of a fraction that fits a page
SHORT = 40  # of a formula in a sentence


def tied(tie: Tie, found: Comparison, sides: Sequence[Side], id: str) -> list[Block]:
    """Which size makes the totals equal: as a formula, exactly, and the whole numbers beside it."""
    first, other = sides
    said: list[Block] = [Heading(1, [f"With the same {tie.measure.title}"])]
    opens: list[Piece] = [*other.called, f" has as many {tie.measure.title} as ", *first.called]
    exact: list[Piece] = [Math.of(tie.size), " = ", exactly(tie.exact)] if tie.exact is not None else []
    line: list[Piece] = []
    if _fits(tie.shown):
        said += [Paragraph([*opens, " where"]), Equation(Chain((tree(tie.size),), (tie.shown,)), id=id)]
        line += ["With these sizes ", *exact, "."] if exact else []
    elif exact:
        line += [*opens, " where ", *exact, "."]
    for number, more in tie.beside:
        if number == tie.exact or more is None:
            continue
        line += [*maybe(line, " "), "At ", Math.of(tie.size), f" = {number:,} ", *first.called]
        line += [f" has {abs(more):,} {'more' if more > 0 else 'fewer'}."]
    if tie.chosen is not None:
        line += [*maybe(line, " "), "Every number here is with ", Math.of(tie.size), f" = {tie.chosen:,}."]
    for what, expr in (("difference", found.tied_difference), ("ratio", found.tied_ratio)):
        if expr is not None and len(text(tree(expr))) <= SHORT:
            line += [*maybe(line, " "), f"With the formula put in, the {what} is ", Math.of(expr), "."]
    return [*said, Paragraph(line)] if line else said


def growing(limits: Mapping[Symbol, Limit], numbers: Numbers, what: str = "ratio") -> list[Block]:
    """Where a ratio goes as one size grows and all others stay, as far as that is short to say."""
    goes: dict[str, tuple[Limit, list[Line]]] = {}
    for size, each in limits.items():
        if each.shown is None or _fits(each.shown):
            goes.setdefault(each.to_json(), (each, []))[1].append([Math.of(size)])
    clauses: list[Line] = []
    for each, sizes in goes.values():
        number = each.value(numbers)
        to: list[Piece] = ["without bound"] if each.kind == "unbounded" else ["to 0"]
        if each.shown is not None:
            to = ["to ", Math(each.shown)]
            if number is not None and value(each.shown).free_symbols:
                to += [f", which is {exactly(number)} here,"]
        clauses.append([*to, " with ", *_or(sizes)])
    if not clauses:
        return []
    return [Paragraph([f"As one size alone grows and all others stay, the {what} goes ", *listed(*clauses), "."])]


def bracketed(shown: Tree) -> Tree | None:
    """A quotient with its common factors before brackets; None where it is wider than a page."""
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
    """A number as a fraction, and to two places where it is not whole."""
    if number.denominator == 1:
        return f"{number.numerator:,}"
    near = Context(prec=40).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{number.numerator:,}/{number.denominator:,} ≈ {near:,.2f}"
