"""The note below a plot of per-rank values that states the number of ranks, in matplotlib's notation."""

from __future__ import annotations

from ...language.notation.latex import latex
from ...output.blocks import Line, Math, plain
from ...output.style import escaped


def line(pieces: Line) -> str:
    """Return a line with escaped words and its mathematics in dollar signs."""
    return "".join(f"${latex(piece.shown)}$" if isinstance(piece, Math) else _words(plain([piece])) for piece in pieces)


def _words(text: str) -> str:
    return r"$\times$".join(map(escaped, text.split("×")))
