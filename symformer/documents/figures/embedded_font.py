"""The widths of lines in the font that pages embed, from its advance widths."""

from __future__ import annotations

import json
from functools import cache

from ...language.notation.svg import SMALLER, runs
from ...output.blocks import Code, Line, Math, Piece, Strong
from ..formats.base_language import templates

CODE = 0.84  # font size of code, relative to the text around it
MONOSPACED = 0.61  # largest advance width of common monospaced fonts, relative to the font size
BOLD = 1.06  # largest width of bold text, relative to regular text
UNKNOWN = 1.0  # width of a character that the font lacks


def embedded_width(line: Line, size: float) -> float:
    """Return the width of a line of a font size in a page, in points."""
    return size * sum(map(_width, line))


def _width(piece: Piece) -> float:
    match piece:
        case str():
            return _told(piece)
        case Math(shown):
            return sum(_told(run) * (SMALLER if level else 1) for run, level in runs(shown))
        case Code(words):
            return len(words) * CODE * MONOSPACED
        case Strong(words):
            return _told(words) * BOLD
    raise TypeError(f"not supported in a figure: {piece!r}")


def _told(words: str) -> float:
    known = advances()
    return sum(known.get(character, UNKNOWN) for character in words)


@cache
def advances() -> dict[str, float]:
    """Return the advance width of each character, relative to the font size."""
    read = json.loads((templates() / "fonts" / "symformer-math.json").read_text("utf-8"))
    return {character: int(wide) / 1000 for wide, characters in read.items() for character in characters}
