"""Convert sentences from code and data to lines of a document: letters to mathematics, paper keys to citations."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sympy import Expr, Symbol

from ..language.symbols import LETTERS, SYMBOLS
from ..output.blocks import Cited, Code, Math, Piece
from ..papers import split_at_keys

_LETTER = re.compile(r"(?<![A-Za-z_0-9-])(?<!ppendix )([A-Z](?:_[a-z]+)*)(²?)(?![A-Za-z_0-9])")


def sentence(words: str, sizes: Mapping[Symbol, Expr] | None = None) -> list[Piece]:
    """Return a sentence as pieces: letters as mathematics, paper keys as citations, double backticks as code.

    ``sizes`` replaces letters by expressions. These are not letters: the article "A" at the start of a sentence,
    capitals that are not sizes, capitals joined to a name by a hyphen (Command-R, Nemotron-H), and appendix letters.
    """
    found: list[Piece] = []
    for place, part in enumerate(split_at_keys(words)):
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
        if name not in LETTERS or article:
            continue
        size = sizes.get(SYMBOLS[name], SYMBOLS[name])
        found += [words[end : each.start()], Math.of(size**2 if square else size)]
        end = each.end()
    return [*found, words[end:]]
