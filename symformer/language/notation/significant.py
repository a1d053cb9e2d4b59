"""Numbers as papers print them: rounded to a few significant digits, with a prefix and a unit."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

from .text import SECONDS, digits, exact_text, percent, seconds

OF_PARAMETERS, OF_COSTS = 3, 4  # significant digits: 124M parameters, 14.97 TFLOPs
_COUNTS = ("", "K", "M", "B", "T")  # of parameters: B is a billion
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def significant(value: int | Fraction, unit: str) -> str:
    """Return a value as a paper prints it: parameters with 3 significant digits, any other amount with 4.

    Integers below 1,000 are exact, times are lower bounds, and prefixes are powers of 1,000.

    >>> significant(124_439_808, "elements"), significant(14_974_000_000_000, "FLOPs"), significant(36_864, "bytes")
    ('124M', '14.97 TFLOPs', '36.86 kB')
    >>> significant(999_600_000, "elements"), significant(786, "bytes"), significant(Fraction(1, 3), "of the FLOPs")
    ('1.00B', '786 bytes', '33.3%')
    """
    if unit == SECONDS:
        return f"≥ {seconds(Fraction(value))}"
    if unit.startswith("of the "):
        return percent(Fraction(value))
    if unit not in ("elements", "FLOPs", "MACs", "bytes"):
        return f"{digits(Fraction(value))} {unit}"
    counted = unit == "elements"
    if value < 1_000 and (value.denominator == 1 or value == 0):
        return exact_text(value) if counted else f"{exact_text(value)} {unit}"
    prefixes = _COUNTS if counted else _PREFIXES
    kept = OF_PARAMETERS if counted else OF_COSTS
    power = 0
    while power + 1 < len(prefixes) and _rounded(value / Fraction(1_000**power), kept) >= 1_000:
        power += 1
    shown = _fixed(value / Fraction(1_000**power), kept)
    if counted:
        return f"{shown}{prefixes[power]}"
    if unit == "bytes" and power:
        unit = "B"
    return f"{shown} {prefixes[power]}{unit}"


def _rounded(value: Fraction, kept: int) -> Decimal:
    """Return a value rounded to some significant digits, halves up, as printed numbers are read."""
    return Context(prec=kept, rounding=ROUND_HALF_UP).divide(Decimal(value.numerator), Decimal(value.denominator))


def _fixed(value: Fraction, kept: int) -> str:
    """Return a positive value with a number of significant digits, and with separators."""
    rounded = _rounded(value, kept)
    places = max(0, kept - 1 - rounded.adjusted())
    return f"{rounded:,.{places}f}"
