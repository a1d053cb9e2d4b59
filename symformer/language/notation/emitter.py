"""The base class of emitters: traversal of a display tree and placement of brackets."""

from __future__ import annotations

from abc import ABC, abstractmethod

from sympy import Symbol

from ..symbols import letter as row
from .display_tree import (
    Applied,
    Call,
    Cross,
    FractionNode,
    Indexed,
    Label,
    Listed,
    Minus,
    Number,
    Pointwise,
    Power,
    Product,
    RealPower,
    Root,
    Size,
    Stretch,
    Sum,
    TensorName,
    Times,
    Total,
    Transposed,
    Tree,
    Word,
)

_SUM, _POINTWISE, _PRODUCT, _POWER, _ATOM = range(5)

LONG = 80  # maximum characters of a subscript name on one line


def fitting(name: str, told: int = 1) -> str:
    """Return a name shortened in the middle to fit a subscript. Prose uses the full name.

    >>> len(fitting("x" * 80)), len(fitting("x" * 300)), fitting("模" * 80, 8)
    (80, 79, '模模模模…模模模模')
    """

    def taken(letters: str) -> int:
        return sum(1 if ord(each) < 0x250 else told for each in letters)

    if taken(name) <= LONG:
        return name
    half = (LONG - 1) // 2
    first = next(count for count in range(len(name)) if taken(name[: count + 1]) > half)
    last = next(count for count in range(len(name)) if taken(name[-count - 1 :]) > half)
    return f"{name[:first]}…{name[-last:]}"


class Emitter(ABC):
    """A printer of display trees in one language; subclasses define the spelling of nodes, not the brackets."""

    fraction_binds: int = _ATOM  # a stacked fraction needs no brackets; a slash binds like a product
    told: int = 1  # the width of a non-Latin letter: 8 if it may be written as a code point

    def emit(self, shown: Tree) -> str:
        """Return the tree in this language."""
        match shown:
            case Number(number):
                return self.number(number)
            case Size(symbol):
                return self.size(symbol)
            case Label(letter, name, _):
                return self.label(letter, fitting(name, self.told))
            case Sum(terms):
                return self.sum([self._signed(term) for term in terms])
            case Minus(operand):
                return self.minus(self._within(operand, _PRODUCT))
            case Product(factors):
                spelt = [
                    self._within(each, _ATOM if place and _counts(each) else _PRODUCT)
                    for place, each in enumerate(factors)
                ]
                return self.product(spelt, factors)
            case Times(factors):
                return self.times([self._within(factor, _PRODUCT) for factor in factors])
            case Cross(factors):
                return self.cross([self._within(factor, _PRODUCT) for factor in factors])
            case Power(FractionNode() as base, exponent) if self.fraction_binds == _ATOM:
                return self.power(self.brackets(self.emit(base)), exponent)  # else only its numerator has the power
            case Power(base, exponent):
                return self.power(self._within(base, _ATOM), exponent)
            case RealPower(FractionNode() as base, raised) if self.fraction_binds == _ATOM:
                return self.real_power(self.brackets(self.emit(base)), self.exponent(self.emit(raised), raised))
            case RealPower(base, raised):
                return self.real_power(self._within(base, _ATOM), self.exponent(self.emit(raised), raised))
            case FractionNode(numerator, denominator):
                if self.fraction_binds == _ATOM:
                    return self.fraction(self.emit(numerator), self.emit(denominator))
                return self.fraction(self._within(numerator, _PRODUCT), self._within(denominator, _POWER))
            case Call(function, arguments):
                return self.call(function, [self.emit(argument) for argument in arguments])
            case TensorName(letter, below, None):
                return self.name(letter, fitting(below, self.told))
            case TensorName(letter, below, index):
                which = self.emit(index) if index else ""
                return self.numbered(letter, f"{self.word(fitting(below, self.told))},{which}" if below else which)
            case Word(word):
                return self.word(word)
            case Transposed(FractionNode() as operand) if self.fraction_binds == _ATOM:
                return self.transposed(self.brackets(self.emit(operand)))
            case Transposed(operand):
                return self.transposed(self._within(operand, _ATOM))
            case Root(operand):
                return self.root(self.emit(operand))
            case Applied(function, arguments, below):
                return self.applied(
                    function, self.emit(below) if below else "", [self.emit(argument) for argument in arguments]
                )
            case Total(over, operand):
                return self.total(self.emit(over), self._within(operand, _PRODUCT))
            case Listed(items, rows):
                return self.listed([self.emit(item) for item in items], rows)
            case Indexed(table, index):
                return self.indexed(self._within(table, _ATOM), self.emit(index))
            case Pointwise(factors):
                return self.pointwise([self._within(factor, _PRODUCT) for factor in factors])
            case Stretch(before, terms, opens, closes):
                inside = self.sum([self._signed(term) for term in terms])
                first = self.product([self._within(each, _PRODUCT) for each in before], before) if before else ""
                begun = first + self.bracket("(", inside) if opens else first
                return begun + inside + (self.bracket(")", inside) if closes else "")
        raise TypeError(f"not a display tree: {shown!r}")

    def _signed(self, term: Tree) -> tuple[str, str]:
        """Return a term of a sum after its sign."""
        operand = term.operand if isinstance(term, Minus) else term
        return "-" if isinstance(term, Minus) else "+", self._within(operand, _POINTWISE)

    def _within(self, shown: Tree, least: int) -> str:
        text = self.emit(shown)
        return self.brackets(text) if self._binds(shown) < least else text

    def _binds(self, shown: Tree) -> int:
        match shown:
            case Sum() | Minus():
                return _SUM
            case Product() | Times() | Cross():
                return _PRODUCT
            case Pointwise():
                return _POINTWISE
            case Total():
                return _PRODUCT
            case Power() | RealPower() | Applied():  # f(x)², where the power seems to belong to x, has brackets
                return _POWER
            case FractionNode():
                return self.fraction_binds
        return _ATOM

    @abstractmethod
    def number(self, number: int) -> str: ...

    @abstractmethod
    def size(self, symbol: Symbol) -> str: ...

    @abstractmethod
    def label(self, letter: str, name: str) -> str: ...

    @abstractmethod
    def product(self, factors: list[str], trees: tuple[Tree, ...]) -> str: ...

    @abstractmethod
    def times(self, factors: list[str]) -> str: ...

    @abstractmethod
    def cross(self, factors: list[str]) -> str: ...

    @abstractmethod
    def power(self, base: str, exponent: int) -> str: ...

    @abstractmethod
    def real_power(self, base: str, exponent: str) -> str: ...

    @abstractmethod
    def fraction(self, numerator: str, denominator: str) -> str: ...

    @abstractmethod
    def call(self, function: str, arguments: list[str]) -> str: ...

    @abstractmethod
    def name(self, letter: str, below: str) -> str: ...

    @abstractmethod
    def numbered(self, letter: str, index: str) -> str: ...

    @abstractmethod
    def word(self, word: str) -> str: ...

    @abstractmethod
    def transposed(self, operand: str) -> str: ...

    @abstractmethod
    def root(self, operand: str) -> str: ...

    @abstractmethod
    def applied(self, function: str, below: str, arguments: list[str]) -> str: ...

    @abstractmethod
    def total(self, over: str, operand: str) -> str: ...

    @abstractmethod
    def listed(self, items: list[str], rows: bool = False) -> str: ...

    @abstractmethod
    def indexed(self, table: str, index: str) -> str: ...

    @abstractmethod
    def pointwise(self, factors: list[str]) -> str: ...

    def exponent(self, spelt: str, shown: Tree) -> str:
        """Return the exponent of a power; emitters that cannot raise it put brackets around it."""
        return spelt

    def sum(self, terms: list[tuple[str, str]]) -> str:
        """Return terms, each after its sign."""
        first, *others = terms
        return first[0].replace("+", "") + first[1] + "".join(f" {sign} {spelt}" for sign, spelt in others)

    def minus(self, operand: str) -> str:
        return f"-{operand}"

    def brackets(self, text: str) -> str:
        return f"({text})"

    def bracket(self, side: str, text: str) -> str:
        """Return one bracket of a pair whose other bracket is on another line; ``text`` is the text next to it."""
        return side


POINTWISE, PRODUCT = _POINTWISE, _PRODUCT


def _counts(shown: Tree) -> bool:
    """Return True for a product that begins with a number, which after a letter would look like part of its name."""
    return isinstance(shown, Product | Times) and isinstance(shown.factors[0], Number)


def under(letter: str, name: str) -> tuple[str, str]:
    """Split the letter of a quantity into base and subscript: its own subscript, then the name of a part.

    >>> under("F_train", "attn"), under("N", "")
    (('F', 'train, attn'), ('N', ''))
    """
    base, _, below = letter.partition("_")
    return base, ", ".join(filter(None, (below, name)))


def spelt_out(trees: tuple[Tree, ...]) -> bool:
    """Return True if a product has a factor with a name of several letters, which needs a separator."""
    bases = [factor.base if isinstance(factor, Power) else factor for factor in trees]
    return any(isinstance(base, Size) and row(base.symbol).word for base in bases)
