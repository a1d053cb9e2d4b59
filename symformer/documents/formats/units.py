"""Lengths and colours for templates."""

from __future__ import annotations


def number(length: float) -> str:
    """Return a length rounded to hundredths, without trailing zeros or negative zero.

    >>> number(12.0), number(0.3), number(-0.001)
    ('12', '0.3', '0')
    """
    return f"{round(length, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def points(length: float) -> str:
    """Return a length in points."""
    return f"{number(length)}pt"


def rgb(ink: str) -> str:
    """Return a colour in xcolor's notation.

    >>> rgb("#0072B2")
    '{rgb,255:red,0;green,114;blue,178}'
    """
    red, green, blue = (int(ink[place : place + 2], 16) for place in (1, 3, 5))
    return f"{{rgb,255:red,{red};green,{green};blue,{blue}}}"


FILTERS = {"n": number, "pt": points, "rgb": rgb}
