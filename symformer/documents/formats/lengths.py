"""Lengths and colours as templates print them."""

from __future__ import annotations


def number(length: float) -> str:
    """A length to a hundredth, without a tail of digits, and without a minus before nothing.

    >>> number(12.0), number(0.3), number(-0.001)
    ('12', '0.3', '0')
    """
    return f"{round(length, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def points(length: float) -> str:
    """A length in points."""
    return f"{number(length)}pt"


def rgb(ink: str) -> str:
    """A colour as xcolor mixes it.

    >>> rgb("#0072B2")
    '{rgb,255:red,0;green,114;blue,178}'
    """
    red, green, blue = (int(ink[place : place + 2], 16) for place in (1, 3, 5))
    return f"{{rgb,255:red,{red};green,{green};blue,{blue}}}"


FILTERS = {"n": number, "pt": points, "rgb": rgb}
