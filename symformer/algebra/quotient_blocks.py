"""Quotients as blocks: factored, as exact numbers, and with their limits as one size grows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction

from sympy import Symbol

from ..formulas.factorization import factored
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.notation.display_tree import Tree, value
from ..language.notation.text import exact_text, text, to_digits
from ..language.sizes import Numbers
from ..output.blocks import Line, Math, Paragraph, listed
from .quotient_limits import Limit

PAGE = 72  # characters of a numerator or a denominator that fit a page


def fits(shown: Tree, most: int | None) -> bool:
    """Return True if a formula, or each side of a quotient, has at most so many characters; None for no limit."""
    sides = (shown.numerator, shown.denominator) if isinstance(shown, Quotient) else (shown,)
    return most is None or all(len(text(each)) <= most for each in sides)


def bracketed(shown: Tree, most: int | None) -> Tree | None:
    """Return a quotient with its common factors in front of brackets, or None if it is too long."""
    sides = (shown.numerator, shown.denominator) if isinstance(shown, Quotient) else (shown,)
    brackets = [factored(value(side)) for side in sides]
    found = Quotient(*brackets) if len(brackets) == 2 else brackets[0]
    return found if fits(found, most) else None


def limits_of(
    limits: Mapping[Symbol, Limit],
    numbers: Numbers,
    most: int | None,
    bounded: Collection[Symbol],
    exact: bool = False,
) -> list[Paragraph]:
    """Return a sentence with the limits of a ratio as one size grows and the others stay fixed.

    The ``bounded`` sizes cannot grow alone, so the sentence omits them. ``exact`` is described at :func:`decimal`.
    """
    goes: dict[str, tuple[Limit, list[Line]]] = {}
    for size, each in limits.items():
        if size in bounded:
            continue
        if each.shown is None or fits(each.shown, most):
            goes.setdefault(each.to_json(), (each, []))[1].append([Math.of(size)])
    clauses: list[Line] = []
    for each, sizes in goes.values():
        number = each.value(numbers)
        to: Line = ["to infinity"] if each.kind == "unbounded" else ["to 0"]
        if each.shown is not None:
            known = number is not None and value(each.shown).free_symbols
            to = [
                "to ",
                Math(each.shown),
                *([f" ({decimal(number, exact)} here)"] if number is not None and known else []),
            ]
        clauses.append([*to, " with ", *listed(*sizes, last=" or ")])
    if not clauses:
        return []
    return [Paragraph(["As one size grows and the others stay fixed, the ratio tends ", *listed(*clauses), "."])]


def decimal(number: Fraction, exact: bool = False) -> str:
    """Return a number as a decimal, rounded to four digits; with ``exact``, also as a fraction.

    >>> decimal(Fraction(6, 2)), decimal(Fraction(8, 5)), decimal(Fraction(486_093, 26_321_936))
    ('3', '1.6', 'about 0.01847')
    >>> decimal(Fraction(8, 5), exact=True), decimal(Fraction(86_024, 3), exact=True)
    ('8/5 = 1.6', '86,024/3 ≈ 28,674.67')
    """
    if number.denominator == 1:
        return exact_text(number)
    near = nearly(number)
    finite = Fraction(near.replace(",", "")) == number
    if exact:
        return f"{exact_text(number)} {'=' if finite else '≈'} {near}"
    return near if finite else f"about {near}"


def trimmed(number: Fraction) -> str:
    """Return a number as :func:`nearly` does, without zeros at the end: 214.2 instead of 214.20.

    >>> trimmed(Fraction(2142, 10)), trimmed(Fraction(9)), trimmed(Fraction(4000, 3))
    ('214.2', '9', '1,333.33')
    """
    shown = nearly(number)
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def equals(number: Fraction, exact: bool = False) -> str:
    """Return a number after the sign = or ≈.

    >>> equals(Fraction(9, 4)), equals(Fraction(6_155, 3)), equals(Fraction(6_155, 3), exact=True)
    (' = 2.25', ' ≈ 2,051.67', ' = 6,155/3 ≈ 2,051.67')
    """
    shown = trimmed(number)
    same = Fraction(shown.replace(",", "")) == number
    return f" = {decimal(number, True)}" if exact and not same else f" {'=' if same else '≈'} {shown}"


def nearly(number: Fraction) -> str:
    """Return a number to four digits, or to two decimals if it has more than two digits before the point."""
    whole = len(str(abs(int(number))))
    return f"{to_digits(number, max(4, whole + 2)):,f}"
