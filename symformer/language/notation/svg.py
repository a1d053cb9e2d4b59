"""The SVG emitter: mathematics as runs of one line of text, in italics, with superscripts and subscripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from sympy import Expr, Symbol

from ..symbols import letter as row
from .display_tree import Tree, tree
from .emitter import spelt_out, under
from .text import CodeEmitter

DOT = "\N{DOT OPERATOR}"
SMALLER = 0.7  # relative size of subscripts and superscripts
LOWERED, RAISED = 0.2, 0.38  # their vertical shift, relative to the font size of the line
_LOW, _HIGH, _BACK = "\x02", "\x03", "\x04"  # markers around subscripts and superscripts
_LEVELS = {_LOW: LOWERED, _HIGH: -RAISED, _BACK: 0.0}
_CALLS = {"ceil": ("\N{LEFT CEILING}", "\N{RIGHT CEILING}"), "floor": ("\N{LEFT FLOOR}", "\N{RIGHT FLOOR}")}


class SVGEmitter(CodeEmitter):
    """Emitter of one line of text, with slashes for fractions and control characters around subscripts."""

    def number(self, number: int) -> str:
        return f"{number:,}"

    def size(self, symbol: Symbol) -> str:
        name = row(symbol)
        return name.name if name.word else self._with(name.base, name.subscript)

    def label(self, letter: str, name: str) -> str:
        return self._with(*under(letter, name))

    def name(self, letter: str, below: str) -> str:
        return self._with(letter, below)

    def product(self, factors: list[str], trees: tuple[Tree, ...]) -> str:
        return DOT.join(factors) if spelt_out(trees) else "".join(factors)

    def times(self, factors: list[str]) -> str:
        return f" {DOT} ".join(factors)

    def cross(self, factors: list[str]) -> str:
        return " \N{MULTIPLICATION SIGN} ".join(factors)

    def power(self, base: str, exponent: int) -> str:
        return f"{base}{_HIGH}{exponent}{_BACK}"

    def real_power(self, base: str, exponent: str) -> str:
        return f"{base}{_HIGH}{exponent}{_BACK}"

    def call(self, function: str, arguments: list[str]) -> str:
        before, after = _CALLS.get(function, (f"{function}(", ")"))
        return f"{before}{', '.join(arguments)}{after}"

    def sum(self, terms: list[tuple[str, str]]) -> str:
        return super().sum([(sign.replace("-", "\N{MINUS SIGN}"), spelt) for sign, spelt in terms])

    def minus(self, operand: str) -> str:
        return f"\N{MINUS SIGN}{operand}"

    def _with(self, base: str, below: str) -> str:
        return italic(base) + (f"{_LOW}{below}{_BACK}" if below else "")


_SVG = SVGEmitter()


def runs(shown: Tree | Expr) -> Iterator[tuple[str, float]]:
    """Return the runs of a formula: the text of each, and its downward shift relative to the font size.

    >>> from symformer.language.symbols import E, L_enc
    >>> list(runs(2 * L_enc + E**2))
    [('𝐸', 0.0), ('2', -0.38), (' + 2𝐿', 0.0), ('enc', 0.2)]
    """
    level = 0.0
    for piece in re.split(f"([{_LOW}{_HIGH}{_BACK}])", _SVG.emit(shown if isinstance(shown, Tree) else tree(shown))):
        if piece in _LEVELS:
            level = _LEVELS[piece]
        elif piece:
            yield piece, level


def svg(shown: Tree | Expr, size: float) -> str:
    """Return a formula as text and ``tspan`` elements for a line with a given font size.

    >>> from symformer.language.symbols import E, L_enc
    >>> svg(2 * L_enc + E, 10)
    '2𝐿<tspan font-size="7" dy="2">enc</tspan><tspan dy="-2"> + 𝐸</tspan>'
    """
    spelt, before = "", 0.0
    for piece, level in runs(shown):
        small = f' font-size="{size * SMALLER:.4g}"' if level else ""
        move = f' dy="{(level - before) * size:.4g}"' if level != before else ""
        told = escape(piece)
        spelt += f"<tspan{small}{move}>{told}</tspan>" if small or move else told
        before = level
    if before:  # return to the baseline
        spelt += f'<tspan dy="{-before * size:.4g}">\N{ZERO WIDTH SPACE}</tspan>'
    return spelt


def italic(letter: str) -> str:
    """Return a letter in mathematical italics, as browsers display letters in MathML.

    >>> italic("E"), italic("h"), italic("12")
    ('𝐸', 'ℎ', '12')
    """
    if len(letter) != 1 or not letter.isascii() or not letter.isalpha():
        return letter
    if letter == "h":
        return "\N{PLANCK CONSTANT}"
    if letter.isupper():
        return chr(ord("\N{MATHEMATICAL ITALIC CAPITAL A}") + ord(letter) - ord("A"))
    return chr(ord("\N{MATHEMATICAL ITALIC SMALL A}") + ord(letter) - ord("a"))
