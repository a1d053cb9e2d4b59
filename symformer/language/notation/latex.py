r"""The LaTeX emitter: amsmath alone, digits grouped by us, and nothing that GitHub refuses (no ``\operatorname``)."""

from __future__ import annotations

from sympy import Expr, Symbol

from ..symbols import letter as row
from .emitter import Emitter, spelt_out, under
from .tree import Tree, tree

_CALLS = {"ceil": (r"\lceil ", r" \rceil"), "floor": (r"\lfloor ", r" \rfloor")}


class LatexEmitter(Emitter):
    """A display tree as LaTeX mathematics."""

    def number(self, number: int) -> str:
        return f"{number:,}".replace(",", "{,}")

    def size(self, symbol: Symbol) -> str:
        return row(symbol).latex

    def label(self, letter: str, name: str) -> str:
        base, below = under(letter, name.replace("_", r"\_"))
        below = below.replace(", ", r",\,")
        return rf"{base}_{{\mathrm{{{below}}}}}" if below else base

    def product(self, factors: list[str], trees: tuple[Tree, ...]) -> str:
        return (r" \cdot " if spelt_out(trees) else " ").join(factors)

    def times(self, factors: list[str]) -> str:
        return r" \cdot ".join(factors)

    def cross(self, factors: list[str]) -> str:
        return r" \times ".join(factors)

    def power(self, base: str, exponent: int) -> str:
        return f"{base}^{{{exponent}}}"

    def fraction(self, numerator: str, denominator: str) -> str:
        return rf"\frac{{{numerator}}}{{{denominator}}}"

    def call(self, function: str, arguments: list[str]) -> str:
        if function in _CALLS:
            before, after = _CALLS[function]
            return rf"\left{before}{arguments[0]}\right{after.strip()}"
        return rf"\{function}({', '.join(arguments)})"

    def brackets(self, text: str) -> str:
        return rf"\left({text}\right)" if r"\frac" in text else f"({text})"


_LATEX = LatexEmitter()


def latex(shown: Tree | Expr) -> str:
    r"""LaTeX mathematics, in house order for an expression.

    >>> from symformer.language.symbols import E, L_enc
    >>> print(latex(12*L_enc*E**2))
    12 L_{\mathrm{enc}} E^{2}
    """
    return _LATEX.emit(shown if isinstance(shown, Tree) else tree(shown))
