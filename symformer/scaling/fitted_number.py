"""Fitted numbers as text: four significant digits."""

from __future__ import annotations


def approximate(number: float) -> str:
    """Return a fitted number with four significant digits.

    >>> approximate(1_823_400_000.0), approximate(2.5e16), approximate(7.0)
    ('1.823B', '2.5e+16', '7')
    """
    for power, suffix in ((12, "T"), (9, "B"), (6, "M"), (3, "K")):
        if 10**power <= number < 10 ** (power + 3):
            return f"{number / 10**power:.4g}{suffix}"
    return f"{number:.4g}"


def tokens_text(number: float) -> str:
    """Return a number of tokens in words."""
    return f"{approximate(number)} tokens"
