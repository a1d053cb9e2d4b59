"""How wide lines are in a browser, which sets them in the font that the page carries: by the widths of that."""

from __future__ import annotations

import json
from functools import cache

from ...language.notation.svg import SMALLER, runs
from ..blocks import Code, Line, Math, Piece, Strong
from ..formats.language import templates
from .measure import Ruler

CODE = 0.84  # the size of a name from the code, against the words around it
MONOSPACED = 0.61  # of its size, the widest letters of the usual fonts
BOLD = 1.06  # what is made bolder may be so much wider
UNKNOWN = 1.0  # of a character that the font does not have


class ScreenRuler(Ruler):
    """Widths of lines in a browser, all of which are known."""

    def width(self, line: Line, size: float) -> float:
        return size * sum(map(_width, line))

    def settle(self) -> bool:
        return False


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
    raise TypeError(f"no piece of a figure: {piece!r}")


def _told(words: str) -> float:
    known = advances()
    return sum(known.get(character, UNKNOWN) for character in words)


@cache
def advances() -> dict[str, float]:
    """How wide each character of the font is, of the size of its type."""
    read = json.loads((templates() / "fonts" / "symformer-math.json").read_text("utf-8"))
    return {character: int(wide) / 1000 for wide, characters in read.items() for character in characters}
