"""The line below a plot that states how many ranks its numbers are of one of, as matplotlib spells it."""

from __future__ import annotations

from sympy import Expr

from ...language.notation.latex import latex
from ...language.notation.tree import tree
from ...output.style import escaped

_MARK = "\0"  # around mathematics, which is not escaped; no name has it


def spell(expr: Expr) -> str:
    """Return mathematics for a line that ``line`` finishes."""
    return f"{_MARK}${latex(tree(expr))}${_MARK}"


def line(text: str) -> str:
    """Return a line whose words are escaped and whose mathematics stays."""
    pieces = text.replace("×", rf"{_MARK}$\times${_MARK}").split(_MARK)
    return "".join(piece if place % 2 else escaped(piece) for place, piece in enumerate(pieces))
