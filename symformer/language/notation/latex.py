r"""The LaTeX emitter: only amsmath, explicit digit grouping, and no command that GitHub rejects (``\operatorname``)."""

from __future__ import annotations

import re

from sympy import Expr, Symbol

from ..symbols import letter as row
from .display_tree import Tree, tree
from .emitter import Emitter, spelt_out, under

_CALLS = {"ceil": (r"\lceil ", r" \rceil"), "floor": (r"\lfloor ", r" \rfloor")}


_GREEK = {
    **{
        "Δ": "Delta",
        "α": "alpha",
        "β": "beta",
        "γ": "gamma",
        "δ": "delta",
        "ε": "varepsilon",
        "η": "eta",
        "θ": "theta",
    },
    **{
        "κ": "kappa",
        "λ": "lambda",
        "ν": "nu",
        "ξ": "xi",
        "ρ": "rho",
        "σ": "sigma",
        "τ": "tau",
        "φ": "varphi",
        "ψ": "psi",
    },
}
_LETTERS = {
    **{letter: rf"\{name}" for letter, name in _GREEK.items()},
    "·": r"\cdot",
    "⊙": r"\odot",
    "…": r"\dots",
}


# Characters that need an escape in LaTeX mathematics or in a reader such as MathJax. In Markdown, table cells cannot
# contain bars, and code spans cannot contain backticks.
_SIGNS = {
    **{sign: "\\" + sign for sign in "{}$&#%_"},
    "\\": r"\backslash ",
    "^": r"\hat{\ }",
    "~": r"{\sim}",
    "`": r"\grave{\ }",
    "|": r"\vert ",
    "<": "{<}",
    ">": "{>}",
    "'": r"\text{'}",
    '"': r"\text{''}",
    " ": r"\ ",
    "…": r"\ldots ",
}


def upright(word: str) -> str:
    r"""Return a name for ``\mathrm``, with non-ASCII letters as text.

    >>> upright("ln_1"), upright("a%b{c}"), upright("模型")
    ('ln\\_1', 'a\\%b\\{c\\}', '\\text{模型}')
    """
    spelt = "".join(_SIGNS.get(each, each if each.isprintable() else "\N{REPLACEMENT CHARACTER}") for each in word)
    return spelt if spelt.isascii() else re.sub(r"[^\x00-\x7f]+", lambda run: rf"\text{{{run[0]}}}", spelt)


class LatexEmitter(Emitter):
    """Emitter of LaTeX mathematics."""

    told = 8

    def number(self, number: int) -> str:
        return f"{number:,}".replace(",", "{,}")

    def size(self, symbol: Symbol) -> str:
        return row(symbol).latex

    def label(self, letter: str, name: str) -> str:
        base, below = under(letter, name)
        spelt = r",\,".join(map(upright, below.split(", ")))
        return rf"{base}_{{\mathrm{{{spelt}}}}}" if below else base

    def product(self, factors: list[str], trees: tuple[Tree, ...]) -> str:
        return (r" \cdot " if spelt_out(trees) else " ").join(factors)

    def times(self, factors: list[str]) -> str:
        return r" \cdot ".join(factors)

    def cross(self, factors: list[str]) -> str:
        return r" \times ".join(factors)

    def power(self, base: str, exponent: int) -> str:
        return f"{base}^{{{exponent}}}"

    def real_power(self, base: str, exponent: str) -> str:
        return f"{base}^{{{exponent}}}"

    def fraction(self, numerator: str, denominator: str) -> str:
        return rf"\frac{{{numerator}}}{{{denominator}}}"

    def call(self, function: str, arguments: list[str]) -> str:
        if function in _CALLS:
            before, after = _CALLS[function]
            return rf"\left{before}{arguments[0]}\right{after.strip()}"
        return rf"\{function}({', '.join(arguments)})"

    def name(self, letter: str, below: str) -> str:
        return (
            rf"{_LETTERS.get(letter, letter)}_{{\mathrm{{{upright(below)}}}}}"
            if below
            else _LETTERS.get(letter, letter)
        )

    def numbered(self, letter: str, index: str) -> str:
        return f"{_LETTERS.get(letter, letter)}_{{{index}}}"

    def word(self, word: str) -> str:
        return rf"\mathrm{{{upright(word)}}}"

    def transposed(self, operand: str) -> str:
        return rf"{operand}^{{\mathsf{{T}}}}"

    def root(self, operand: str) -> str:
        return rf"\sqrt{{{operand}}}"

    def applied(self, function: str, below: str, arguments: list[str]) -> str:
        name = _LETTERS.get(function, rf"\mathrm{{{upright(function)}}}")
        return name + (f"_{{{below}}}" if below else "") + self.brackets(", ".join(arguments))

    def total(self, over: str, operand: str) -> str:
        return rf"\sum_{{{over}}} {operand}"

    def listed(self, items: list[str], rows: bool = False) -> str:
        return rf"[{('; ' if rows else ', ').join(items)}]"

    def indexed(self, table: str, index: str) -> str:
        return f"{table}[{index}]"

    def pointwise(self, factors: list[str]) -> str:
        return r" \odot ".join(factors)

    def brackets(self, text: str) -> str:
        return rf"\left({text}\right)" if r"\frac" in text else f"({text})"

    def bracket(self, side: str, text: str) -> str:
        return (r"\Bigl" if side == "(" else r"\Bigr") + side if r"\frac" in text else side


_LATEX = LatexEmitter()


def latex(shown: Tree | Expr) -> str:
    r"""Return LaTeX mathematics, in house order for an expression.

    >>> from symformer.language.symbols import E, L_enc
    >>> print(latex(12*L_enc*E**2))
    12 L_{\mathrm{enc}} E^{2}
    """
    return _LATEX.emit(shown if isinstance(shown, Tree) else tree(shown))
