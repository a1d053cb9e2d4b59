"""The note below a plot of per-rank values that states the number of ranks, in matplotlib's notation."""

from __future__ import annotations

from sympy import Expr

from ...language.notation.display_tree import tree
from ...language.notation.latex import latex
from ...output.style import escaped

_MARK = "\0"  # delimits mathematics, which is not escaped; it occurs in no name


def spell(expr: Expr) -> str:
    """Return mathematics in delimiters for ``line``."""
    return f"{_MARK}${latex(tree(expr))}${_MARK}"


def line(text: str) -> str:
    """Return a line with escaped words and unchanged mathematics."""
    pieces = text.replace("×", rf"{_MARK}$\times${_MARK}").split(_MARK)
    return "".join(piece if place % 2 else escaped(piece) for place, piece in enumerate(pieces))
