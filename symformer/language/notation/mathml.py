"""The MathML emitter: presentation MathML Core, with long sums in pieces between which a browser may break lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sympy import Expr, Symbol

from ..symbols import letter as row
from .display_tree import Applied, Cross, Minus, Product, Sum, Times, Transposed, Tree, tree
from .emitter import POINTWISE, PRODUCT, Emitter, spelt_out, under
from .text import text

TIMES = "\N{INVISIBLE TIMES}"  # between factors: read by screen readers, but invisible
THIN = '<mspace width="0.17em"></mspace>'
TRANSPOSE = f"<mrow>{THIN}<mtext>T</mtext></mrow>"  # with space after an italic letter
SHORT = 24  # maximum characters of a sum in brackets that is never broken
_CALLS = {"ceil": ("\N{LEFT CEILING}", "\N{RIGHT CEILING}"), "floor": ("\N{LEFT FLOOR}", "\N{RIGHT FLOOR}")}
_SIGNS = {"-": "\N{MINUS SIGN}"}


class MathMLEmitter(Emitter):
    """Emitter of MathML; every tree becomes one element."""

    def number(self, number: int) -> str:
        return f"<mn>{number:,}</mn>"

    def size(self, symbol: Symbol) -> str:
        name = row(symbol)
        if name.word:
            return _upright(name.name)
        return _sub(f"<mi>{_told(name.base)}</mi>", name.subscript)

    def label(self, letter: str, name: str) -> str:
        base, below = under(letter, name)
        return _sub(f"<mi>{_told(base)}</mi>", below)

    def product(self, factors: list[str], trees: tuple[Tree, ...]) -> str:
        sign = _sign("\N{DOT OPERATOR}" if spelt_out(trees) else TIMES)
        apart = [THIN + spelt if at and _worded(trees[at]) else spelt for at, spelt in enumerate(factors)]
        return _row(sign.join(apart))

    def times(self, factors: list[str]) -> str:
        return _row(_sign("\N{DOT OPERATOR}").join(factors))

    def cross(self, factors: list[str]) -> str:
        return _row(_sign("\N{MULTIPLICATION SIGN}").join(factors))

    def power(self, base: str, exponent: int) -> str:
        sign = "<mo>−</mo>" * (exponent < 0)
        power = f"<mrow>{sign}<mn>{-exponent}</mn></mrow>" if sign else f"<mn>{exponent}</mn>"
        return f"<msup>{base}{power}</msup>"

    def real_power(self, base: str, exponent: str) -> str:
        return f"<msup>{base}<mrow>{exponent}</mrow></msup>"

    def fraction(self, numerator: str, denominator: str) -> str:
        return f"<mfrac>{numerator}{denominator}</mfrac>"

    def call(self, function: str, arguments: list[str]) -> str:
        if function in _CALLS:
            before, after = _CALLS[function]
            return _row(f'<mo form="prefix">{before}</mo>{arguments[0]}<mo form="postfix">{after}</mo>')
        listed = '<mo separator="true">,</mo>'.join(arguments)
        return _row(f"<mi>{function}</mi><mo>\N{FUNCTION APPLICATION}</mo>{self.brackets(listed)}")

    def sum(self, terms: list[tuple[str, str]]) -> str:
        first, *others = terms
        begun = self.minus(first[1]) if first[0] == "-" else first[1]
        return _row(begun + "".join(_sign(sign) + spelt for sign, spelt in others))

    def minus(self, operand: str) -> str:
        return _row(f'<mo form="prefix">{_SIGNS["-"]}</mo>{operand}')

    def brackets(self, text: str) -> str:
        return _row(f"{_open(text)}{text}{_shut(text)}")

    def name(self, letter: str, below: str) -> str:
        return _sub(f"<mi>{_told(letter)}</mi>", below)

    def numbered(self, letter: str, index: str) -> str:
        several = index.replace(",<", '<mo separator="true">,</mo><')
        return f"<msub><mi>{_told(letter)}</mi>{_row(several) if several != index else index}</msub>"

    def word(self, word: str) -> str:
        return f"<mtext>{_told(word)}</mtext>"

    def transposed(self, operand: str) -> str:
        if operand.startswith("<msub>") and operand.endswith(
            "</msub>"
        ):  # the exponent is above the subscript, not after it
            return f"<msubsup>{operand.removeprefix('<msub>').removesuffix('</msub>')}{TRANSPOSE}</msubsup>"
        return f"<msup>{operand}{TRANSPOSE}</msup>"

    def root(self, operand: str) -> str:
        return f"<msqrt>{operand}</msqrt>"

    def applied(self, function: str, below: str, arguments: list[str]) -> str:
        name = f"<msub>{_upright(function)}{below}</msub>" if below else _upright(function)
        listed = '<mo separator="true">,</mo>'.join(arguments)
        return _row(f"{name}<mo>\N{FUNCTION APPLICATION}</mo>{self.brackets(listed)}")

    def total(self, over: str, operand: str) -> str:
        return _row(f"<munder><mo>\N{N-ARY SUMMATION}</mo>{over}</munder>{operand}")

    def listed(self, items: list[str], rows: bool = False) -> str:
        inside = f'<mo separator="true">{";" if rows else ","}</mo>'.join(items)
        return _row(f'<mo form="prefix" stretchy="false">[</mo>{inside}<mo form="postfix" stretchy="false">]</mo>')

    def indexed(self, table: str, index: str) -> str:
        return _row(f"{table}{self.listed([index])}")

    def pointwise(self, factors: list[str]) -> str:
        return _row(_sign("\N{CIRCLED DOT OPERATOR}").join(factors))

    def term(self, shown: Tree) -> str:
        """Return a tree as a term of a sum."""
        return self._within(shown, POINTWISE)

    def factor(self, shown: Tree) -> str:
        """Return a tree as a factor of a product, with a sum in brackets."""
        return self._within(shown, PRODUCT)


@dataclass(frozen=True)
class MathRun:
    """An unbreakable piece: the content of a ``math`` element and its alternative text."""

    content: str
    alternative: str

    @property
    def element(self) -> str:
        """The whole element, for inline mathematics."""
        return f'<math alttext="{_told(self.alternative)}">{self.content}</math>'

    @property
    def displayed(self) -> str:
        """The whole element in display style, with full-size fractions and sums."""
        return f'<math displaystyle="true" alttext="{_told(self.alternative)}">{self.content}</math>'


_MATHML = MathMLEmitter()


def mathml(shown: Tree | Expr) -> str:
    """Return a formula as one element, in house order for an expression.

    >>> from symformer.language.symbols import E, L_enc
    >>> print(mathml(L_enc + E))
    <math alttext="L_enc + E"><mrow><msub><mi>L</mi><mtext>enc</mtext></msub><mo>+</mo><mi>E</mi></mrow></math>
    """
    made = shown if isinstance(shown, Tree) else tree(shown)
    return MathRun(_MATHML.emit(made), text(made)).element


def equated(sides: Sequence[Tree]) -> str:
    """Return an equation as one displayed element.

    >>> from symformer.language.symbols import E
    >>> equated([tree(E), tree(2 * E / 2)]).count("<math ")
    1
    """
    content = _row('<mo form="infix">=</mo>'.join(map(_MATHML.emit, sides)))
    told = _told(" = ".join(map(text, sides)))
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block" alttext="{told}">{content}</math>'


def sign(spelt: str) -> MathRun:
    """Return a sign by itself, between two sides or before a continuation line.

    >>> sign("=").content
    '<mo form="infix">=</mo>'
    """
    return MathRun(f'<mo form="infix">{_SIGNS.get(spelt, spelt)}</mo>', spelt)


def pieces(shown: Tree | Expr) -> list[MathRun]:
    """Split a formula into pieces between which a line may break: terms of a sum, also of a long sum in brackets.

    >>> from symformer.language.symbols import E, L
    >>> [piece.alternative for piece in pieces(12*L*E**2 - 13*L*E)]
    ['12LE²', '- 13LE']
    >>> pieces(L*E - 1)[1].content
    '<mo form="infix">−</mo><mn>1</mn>'
    >>> [piece.alternative for piece in pieces(-2*E)]
    ['-2E']
    """
    return _pieces(shown if isinstance(shown, Tree) else tree(shown))


def _pieces(shown: Tree) -> list[MathRun]:
    match shown:
        case Sum(terms):
            return [piece for place, term in enumerate(terms) for piece in _term(term, first=not place)]
        case Minus():
            return _term(shown, first=True)
        case Product() | Times() | Cross():
            return _factors(shown)
    return [_whole(shown)]


def _factors(shown: Product | Times | Cross) -> list[MathRun]:
    """Return the pieces of a product, including the pieces of a factor that is a long sum."""
    dot = isinstance(shown, Times) or (isinstance(shown, Product) and spelt_out(shown.factors))
    between = "\N{MULTIPLICATION SIGN}" if isinstance(shown, Cross) else "\N{DOT OPERATOR}" if dot else TIMES
    said = {Times: " · ", Cross: " × "}.get(type(shown), "·" if "·" in text(shown) else "")
    found: list[MathRun] = []
    begun = MathRun("", "")
    for place, factor in enumerate(shown.factors):
        if place:
            begun = MathRun(begun.content + _sign(between), begun.alternative + said)
        inside = _in_brackets(factor, begun) if isinstance(factor, Sum) else []
        if inside:
            *more, begun = inside
            found += more
        else:
            begun = MathRun(begun.content + _MATHML.factor(factor), begun.alternative + _alternative(factor))
    return [*found, begun] if found else [_whole(shown)]


def _in_brackets(shown: Sum, begun: MathRun = MathRun("", "")) -> list[MathRun]:
    """Return the pieces of a long sum in brackets after a prefix; empty for a short sum or one with fractions."""
    first, *middle, last = _pieces(shown)
    if len(text(shown)) <= SHORT or any("<mfrac>" in piece.content for piece in (first, *middle, last)):
        return []
    first = MathRun(f"{begun.content}{_open()}{first.content}", f"{begun.alternative}({first.alternative}")
    return [first, *middle, MathRun(f"{last.content}{_shut()}", f"{last.alternative})")]


def _term(term: Tree, first: bool) -> list[MathRun]:
    """Return the pieces of a term of a sum, after its sign."""
    operand = term.operand if isinstance(term, Minus) else term
    whole = _in_brackets(operand) or [_whole(operand)] if isinstance(operand, Sum) else _pieces(operand)
    if first and not isinstance(term, Minus):
        return whole
    begun, *others = whole
    spelt, form, apart = "-" if isinstance(term, Minus) else "+", *(("prefix", "") if first else ("infix", " "))
    content = f'<mo form="{form}">{_SIGNS.get(spelt, spelt)}</mo>{begun.content}'
    return [MathRun(content, f"{spelt}{apart}{begun.alternative}"), *others]


def _whole(shown: Tree) -> MathRun:
    return MathRun(_MATHML.term(shown), _alternative(shown))


def _alternative(shown: Tree) -> str:
    return f"({text(shown)})" if isinstance(shown, Sum | Minus) else text(shown)


def _told(name: str) -> str:
    """Return a name, escaped, without unprintable characters."""
    return escape("".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in name))


def _row(inside: str) -> str:
    return f"<mrow>{inside}</mrow>"


def _worded(shown: Tree) -> bool:
    """Return True if a tree begins with a function name, which needs space after a factor."""
    return isinstance(shown, Applied) or (isinstance(shown, Transposed) and _worded(shown.operand))


def _sub(base: str, below: str) -> str:
    return f"<msub>{base}<mtext>{_told(below)}</mtext></msub>" if below else base


def _upright(name: str) -> str:
    return f'<mi mathvariant="normal">{_told(name)}</mi>' if len(name) == 1 else f"<mi>{_told(name)}</mi>"


def _sign(spelt: str) -> str:
    return f"<mo>{_SIGNS.get(spelt, spelt)}</mo>"


def _open(inside: str = "") -> str:
    return f'<mo form="prefix"{_still(inside)}>(</mo>'


def _shut(inside: str = "") -> str:
    return f'<mo form="postfix"{_still(inside)}>)</mo>'


def _still(inside: str) -> str:
    """Return the attribute that keeps brackets from growing unless they contain a fraction."""
    return "" if "<mfrac>" in inside else ' stretchy="false"'
