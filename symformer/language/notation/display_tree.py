"""The display tree: the visual structure of a formula, which never sorts or simplifies by itself.

SymPy prints in its own order and immediately distributes ``3(E·E + E)``. The structure is therefore stored here,
printed by small emitters, and verified against the SymPy expression with :func:`value`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from sympy import Add, Expr, Integer, Max, Min, Mul, Pow, Rational, Symbol, ceiling, floor, fraction, sqrt, together

from ..symbols import letter, print_order


class Tree:
    """Base class of nodes of the display tree."""


@dataclass(frozen=True)
class Number(Tree):
    """An integer; emitters group its digits."""

    number: int


@dataclass(frozen=True)
class Size(Tree):
    """A symbol of the alphabet."""

    symbol: Symbol


@dataclass(frozen=True)
class Label(Tree):
    """A name for a value shown elsewhere: the count of ``attn`` inside the sum of its block."""

    letter: str
    name: str
    stands_for: Expr


@dataclass(frozen=True)
class Sum(Tree):
    """Terms in the order given; a Minus among them prints as a subtraction."""

    terms: tuple[Tree, ...]


@dataclass(frozen=True)
class Minus(Tree):
    """The negative of a tree."""

    operand: Tree


@dataclass(frozen=True)
class Product(Tree):
    """Adjacent factors, as in ``12LE²``."""

    factors: tuple[Tree, ...]


@dataclass(frozen=True)
class Times(Tree):
    """Factors with visible dots, as in ``E · 3E`` for the number of elements of a matrix."""

    factors: tuple[Tree, ...]


@dataclass(frozen=True)
class Cross(Tree):
    """Factors with visible crosses, as in ``3E × E`` for the shape of a tensor."""

    factors: tuple[Tree, ...]


@dataclass(frozen=True)
class Power(Tree):
    """A base with an integer exponent."""

    base: Tree
    exponent: int


@dataclass(frozen=True)
class RealPower(Tree):
    """A base with any exponent: ``N^α``. It has no value, because exponents of formulas are integers."""

    base: Tree
    exponent: Tree


@dataclass(frozen=True)
class FractionNode(Tree):
    """One tree over another."""

    numerator: Tree
    denominator: Tree


@dataclass(frozen=True)
class Call(Tree):
    """ceil, floor, max or min."""

    function: str
    arguments: tuple[Tree, ...]


@dataclass(frozen=True)
class Root(Tree):
    """A square root."""

    operand: Tree


# The following nodes show computations. They have no value.


@dataclass(frozen=True)
class TensorName(Tree):
    """A tensor or a weight: ``x``, ``W`` with the module's name as subscript, or ``x`` with an index."""

    letter: str
    below: str = ""
    index: Tree | None = None


@dataclass(frozen=True)
class Word(Tree):
    """A word within mathematics: ``causal``."""

    word: str


@dataclass(frozen=True)
class Transposed(Tree):
    """A transposed matrix."""

    operand: Tree


@dataclass(frozen=True)
class Applied(Tree):
    """A named function of some arguments, with an optional subscript: ``softmax(x)``."""

    function: str
    arguments: tuple[Tree, ...]
    below: Tree | None = None


@dataclass(frozen=True)
class ModuleCall(Applied):
    """A module applied to some arguments; ``module`` is its path below the part that calls it."""

    module: str = ""


@dataclass(frozen=True)
class Total(Tree):
    """A sum over the range ``over``."""

    over: Tree
    operand: Tree


@dataclass(frozen=True)
class Listed(Tree):
    """Items in square brackets, such as pieces of a tensor or axes of a shape; with ``rows``, stacked vertically."""

    items: tuple[Tree, ...]
    rows: bool = False


@dataclass(frozen=True)
class Indexed(Tree):
    """Rows of a table, selected by an index."""

    table: Tree
    index: Tree


@dataclass(frozen=True)
class Pointwise(Tree):
    """An elementwise product."""

    factors: tuple[Tree, ...]


@dataclass(frozen=True)
class Stretch(Tree):
    """Some terms of a bracketed sum that is too long for a line. The first stretch has the factors and the opening
    bracket, the last one the closing bracket.
    """

    before: tuple[Tree, ...]
    terms: tuple[Tree, ...]
    opens: bool
    closes: bool


_CALLS = {ceiling: "ceil", floor: "floor", Max: "max", Min: "min"}
_FUNCTIONS = {name: function for function, name in _CALLS.items()}


@lru_cache(maxsize=4096)  # a document shows the same expression again and again
def tree(expr: Expr) -> Tree:
    """Return the display tree of an expression in house order: highest degree first, then alphabet order."""
    if isinstance(expr, Integer):
        number = Number(abs(int(expr)))
        return Minus(number) if expr < 0 else number
    if isinstance(expr, Rational):
        fraction = FractionNode(Number(abs(int(expr.p))), Number(int(expr.q)))
        return Minus(fraction) if expr < 0 else fraction
    if isinstance(expr, Symbol):
        return Size(expr)
    if isinstance(expr, Add):
        return Sum(tuple(tree(term) for term in ordered_terms(expr)))
    if isinstance(expr, Mul | Pow):
        return _product(expr)
    for function, name in _CALLS.items():
        if isinstance(expr, function):
            arguments = [_one_fraction(each) if function in (floor, ceiling) else each for each in expr.args]
            return Call(name, tuple(tree(argument) for argument in sorted(arguments, key=house_key)))
    raise TypeError(f"{expr} has no display form: {type(expr).__name__}")


def _one_fraction(expr: Expr) -> Expr:
    """Return a sum of fractions of sizes, such as C/m + 1/m, as one fraction, (C + 1)/m; else the expression."""
    joined = together(expr) if isinstance(expr, Add) else expr
    return joined if fraction(joined)[1].free_symbols else expr


def _product(expr: Expr) -> Tree:
    coefficient, rest = expr.as_coeff_Mul()
    above: list[Tree] = []
    below: list[Tree] = []
    factors = rest.as_powers_dict().items()
    for base, exponent in sorted(factors, key=lambda item: (not item[0].is_Symbol, house_key(item[0]))):
        if base == 1:
            continue
        if not isinstance(exponent, Integer):
            raise TypeError(f"{expr} has no display form: the exponent {exponent} is not an integer")
        shown = tree(base)
        times = abs(int(exponent))
        (above if exponent > 0 else below).append(shown if times == 1 else Power(shown, times))
    if abs(coefficient.p) != 1 or not above:
        above.insert(0, Number(abs(int(coefficient.p))))
    if coefficient.q != 1:
        below.insert(0, Number(int(coefficient.q)))
    shown = _join(above) if not below else FractionNode(_join(above), _join(below))
    return Minus(shown) if coefficient < 0 else shown


def _join(factors: list[Tree]) -> Tree:
    return factors[0] if len(factors) == 1 else Product(tuple(factors))


def ordered_terms(expr: Expr) -> list[Expr]:
    """Return the terms of a sum in house order.

    >>> from symformer.language.symbols import E, L, P, V
    >>> ordered_terms(2*E + P*E + V*E + 13*L*E + 12*L*E**2)
    [12*E**2*L, 13*E*L, E*V, E*P, 2*E]
    """
    return sorted(Add.make_args(expr), key=house_key)


@lru_cache(maxsize=4096)
def house_key(expr: Expr) -> tuple[int, int, list[tuple[tuple[int, str], int]], bool, str]:
    """Return the sort key of house order: descending degree, then the alphabet, then coefficient sign and text."""
    powers = leading_powers(expr)
    return (
        -sum(power for symbol, power in powers.items() if not letter(symbol).ranks),
        -sum(powers.values()),
        sorted((print_order(symbol), -power) for symbol, power in powers.items()),
        expr.could_extract_minus_sign() and not isinstance(expr, Add),  # L - floor(L/4), not -floor(L/4) + L
        str(expr),
    )


def leading_powers(expr: Expr) -> dict[Symbol, int]:
    """Return the exponent of each symbol in a term; a factor that is a sum counts as its first term."""
    if isinstance(expr, Symbol):
        return {expr: 1}
    if isinstance(expr, Add):
        return leading_powers(min(expr.args, key=house_key))
    powers: dict[Symbol, int] = {}
    if isinstance(expr, Pow) and isinstance(expr.exp, Integer):
        for symbol, power in leading_powers(expr.base).items():
            powers[symbol] = power * int(expr.exp)
    elif isinstance(expr, Mul):
        for factor in expr.args:
            for symbol, power in leading_powers(factor).items():
                powers[symbol] = powers.get(symbol, 0) + power
    elif expr.args:  # a call counts as its first argument
        return leading_powers(min(expr.args, key=house_key))
    return powers


def growth(term: Expr) -> int:
    """Return the growth of a term with the model: its degree without constant sizes such as D.

    A minimum with such a size is constant too, such as the tokens in a sliding window.
    """
    if isinstance(term, Symbol):
        return letter(term).growth
    if isinstance(term, Pow) and isinstance(term.exp, Integer):
        return int(term.exp) * growth(term.base)
    below = [growth(argument) for argument in term.args]
    if isinstance(term, Mul):
        return sum(below)
    return min(below, default=0) if isinstance(term, Min) else max(below, default=0)


def value(shown: Tree) -> Expr:
    """Return the SymPy expression of a display tree, which is used to verify displayed lines."""
    match shown:
        case Number(number):
            return Integer(number)
        case Size(symbol):
            return symbol
        case Label(_, _, stands_for):
            return stands_for
        case Sum(terms):
            return Add(*(value(term) for term in terms))
        case Minus(operand):
            return -value(operand)
        case Product(factors) | Times(factors) | Cross(factors):
            return Mul(*(value(factor) for factor in factors))
        case Power(base, exponent):
            return value(base) ** Integer(exponent)
        case FractionNode(numerator, denominator):
            return value(numerator) / value(denominator)
        case Root(operand):
            return sqrt(value(operand))
        case Call(function, arguments):
            return _FUNCTIONS[function](*(value(argument) for argument in arguments))
    raise TypeError(f"not a display tree: {shown!r}")


def nodes(shown: Any) -> Iterator[Tree]:
    """Yield a display tree and every tree in it, from the top; an index belongs to its name."""
    yield shown
    for item in () if isinstance(shown, TensorName) else fields(shown):
        inside = getattr(shown, item.name)
        for each in inside if isinstance(inside, tuple) else (inside,):
            if isinstance(each, Tree):
                yield from nodes(each)


def mapped(shown: Any, change: Callable[[Tree], Tree]) -> Any:
    """Return a display tree with every tree in it changed, from the bottom; an index belongs to its name.

    >>> mapped(Product((TensorName("x"), TensorName("h"))), lambda each: Number(2) if each == TensorName("h") else each)
    Product(factors=(TensorName(letter='x', below='', index=None), Number(number=2)))
    """
    inside: dict[str, Any] = {}
    for item in () if isinstance(shown, TensorName) else fields(shown):
        here = getattr(shown, item.name)
        if isinstance(here, tuple):
            inside[item.name] = tuple(mapped(each, change) if isinstance(each, Tree) else each for each in here)
        elif isinstance(here, Tree):
            inside[item.name] = mapped(here, change)
    return change(replace(shown, **inside) if inside else shown)


def sizes_of(shown: Tree) -> set[Symbol]:
    """Return the symbols shown in a display tree, without those in the expressions that labels stand for.

    >>> from symformer.language.symbols import E, L
    >>> sizes_of(tree(12 * L * E**2)) == {E, L}
    True
    """
    match shown:
        case Size(symbol):
            return {symbol}
        case Sum(inside) | Product(inside) | Times(inside) | Cross(inside) | Call(_, inside):
            return set().union(*map(sizes_of, inside))
        case TensorName(_, _, index) if index is not None:
            return sizes_of(index)
        case Listed(inside) | Pointwise(inside):
            return set().union(*map(sizes_of, inside))
        case Stretch(before, inside):
            return set().union(*map(sizes_of, (*before, *inside)))
        case Minus(operand) | Power(operand, _) | Transposed(operand) | Root(operand):
            return sizes_of(operand)
        case FractionNode(one, other) | Total(one, other) | Indexed(one, other) | RealPower(one, other):
            return sizes_of(one) | sizes_of(other)
        case Applied(_, inside, below):
            return set().union(*map(sizes_of, inside), sizes_of(below) if below else ())
    return set()


def terms_tree(terms: list[Tree]) -> Tree:
    """Return a sum of several trees, the tree itself if there is only one, or zero if there are none."""
    if not terms:
        return Number(0)
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))
