"""Sentences from code and data as lines of a document: letters become mathematics, keys of papers citations."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sympy import Expr, Symbol

from ..language.symbols import LETTERS, SYMBOLS
from ..papers import pieces
from .blocks import Cited, Code, Line, Math, Piece

_LETTER = re.compile(r"(?<![A-Za-z_0-9-])(?<!ppendix )([A-Z](?:_[a-z]+)?)(²?)(?![A-Za-z_0-9])")


def sentence(words: str, sizes: Mapping[Symbol, Expr] | None = None) -> list[Piece]:
    """A sentence with its letters as mathematics, the papers that it cites, and what stands in double backticks as it
    stands there; ``sizes`` says what letters stand for.

    The word "A" at the beginning of a sentence is no letter, and neither is one that is no size of the alphabet, or
    that a hyphen makes a part of a name, Command-R, Nemotron-H, and neither is that of an appendix.
    """
    found: list[Piece] = []
    for place, part in enumerate(pieces(words)):
        if place % 2:
            found.append(Cited(part))
            continue
        for index, said in enumerate(part.split("``")):
            found += [Code(said)] if index % 2 else _lettered(said, sizes or {})
    return [piece for piece in found if piece != ""]


def _lettered(words: str, sizes: Mapping[Symbol, Expr]) -> list[Piece]:
    found: list[Piece] = []
    end = 0
    for each in _LETTER.finditer(words):
        before, name, square = words[: each.start()], each[1], each[2]
        article = name == "A" and re.match(r" [a-z]", words[each.end() :]) and re.search(r"(^|[.] )$", before)
        if name not in LETTERS or LETTERS[name].word or article:
            continue
        size = sizes.get(SYMBOLS[name], SYMBOLS[name])
        found += [words[end : each.start()], Math.of(size**2 if square else size)]
        end = each.end()
    return [*found, words[end:]]


def listed(*notes: Line) -> list[Piece]:
    """Notes in a sentence: a, b and c."""
    joined: list[Piece] = []
    for index, note in enumerate(notes):
        joined += [" and " if index and index == len(notes) - 1 else ", " if index else "", *note]
    return joined


def maybe(said: object, *pieces: Piece) -> Line:
    """Pieces of a line that stand there only where there is something to say."""
    return pieces if said else ()


def capital(words: str) -> str:
    return words[0].upper() + words[1:]
