"""The Typst emitter: mathematics for PDFs without TeX."""

from __future__ import annotations

from sympy import Expr, Symbol

from ..symbols import letter as row
from .display_tree import Tree, tree
from .emitter import Emitter, spelt_out, under


class TypstEmitter(Emitter):
    """Emitter of Typst mathematics."""

    told = 8

    def number(self, number: int) -> str:
        return f'"{number:,}"' if number > 999 else str(number)

    def size(self, symbol: Symbol) -> str:
        name = row(symbol)
        if name.word:
            return f'"{name.name}"'
        return f'{name.base}_"{name.subscript}"' if name.subscript else name.base

    def label(self, letter: str, name: str) -> str:
        base, below = under(letter, name)
        return f"{base}_{_quoted(below)}" if below else base

    def product(self, factors: list[str], trees: tuple[Tree, ...]) -> str:
        return (" dot " if spelt_out(trees) else " ").join(factors)

    def times(self, factors: list[str]) -> str:
        return " dot ".join(factors)

    def cross(self, factors: list[str]) -> str:
        return " times ".join(factors)

    def power(self, base: str, exponent: int) -> str:
        return f"{base}^{exponent}" if 0 <= exponent < 10 else f"{base}^({exponent})"

    def real_power(self, base: str, exponent: str) -> str:
        return f"{base}^({exponent})"

    def fraction(self, numerator: str, denominator: str) -> str:
        return f"frac({numerator}, {denominator})"

    def call(self, function: str, arguments: list[str]) -> str:
        return f"{function}({', '.join(arguments)})"

    def name(self, letter: str, below: str) -> str:
        base = letter if len(letter) == 1 else _quoted(letter)
        return f"{base}_{_quoted(below)}" if below else base

    def numbered(self, letter: str, index: str) -> str:
        return f"{letter}_({index})"

    def word(self, word: str) -> str:
        return _quoted(word)

    def transposed(self, operand: str) -> str:
        return f"{operand}^sans(T)"

    def root(self, operand: str) -> str:
        return f"sqrt({operand})"

    def applied(self, function: str, below: str, arguments: list[str]) -> str:
        return f"op({_quoted(function)})" + (f"_({below})" if below else "") + f" ({', '.join(arguments)})"

    def total(self, over: str, operand: str) -> str:
        return f"sum_({over}) {operand}"

    def listed(self, items: list[str], rows: bool = False) -> str:
        between = r"\; " if rows else ", "  # a bare semicolon would start a new row of arguments
        return f"lr([{between.join(items)}])"

    def indexed(self, table: str, index: str) -> str:
        return f"{table} [{index}]"

    def pointwise(self, factors: list[str]) -> str:
        return " dot.o ".join(factors)

    def brackets(self, text: str) -> str:
        return f"lr(({text}))" if "frac(" in text else f"({text})"

    def bracket(self, side: str, text: str) -> str:
        return rf" lr(\{side}, size: #200%) " if "frac(" in text else rf" \{side} "


def _quoted(word: str) -> str:
    word = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in word)
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


_TYPST = TypstEmitter()


def typst(shown: Tree | Expr) -> str:
    """Return Typst mathematics, in house order for an expression.

    >>> from symformer.language.symbols import E, L
    >>> typst(13*L*E + 12*L*E**2)
    '12 L E^2 + 13 L E'
    """
    return _TYPST.emit(shown if isinstance(shown, Tree) else tree(shown))
