"""Fractions on one line: the letters of a stacked fraction would be too small in a figure."""

from __future__ import annotations

from itertools import groupby

from ...language.notation.display_tree import (
    Call,
    FractionNode,
    Minus,
    Power,
    Product,
    Root,
    Stretch,
    Sum,
    Tree,
    Word,
    mapped,
    nodes,
)
from ...output.blocks import Line, Math

SLASH, NOTHING = Word("/"), Word("")


def one_line(shown: Tree) -> Line:
    """Return mathematics with a slash in each fraction.

    >>> from symformer.language.notation.display_tree import tree
    >>> from symformer.language.symbols import A, E, G
    >>> from symformer.output.blocks import plain
    >>> plain(one_line(tree(2 * E**2 + 2 * E**2 * G / A + E))), plain(one_line(tree(E / (A * G))))
    ('2E² + 2E²G/A + E', 'E/(AG)')
    >>> plain(one_line(Product((tree(E), tree(1 + E / A)))))
    'E(1 + E/A)'
    >>> plain(one_line(tree(E**2 - 2 * E / A)))
    'E² - 2E/A'
    >>> plain(one_line(Call("ceil", (tree(E / A), ))))
    'ceil(E/A)'

    """
    shown = mapped(shown, _without_stacks)
    match shown:
        case _ if not _divides(shown):
            return [Math(shown)]
        case FractionNode(numerator, denominator):
            return [*_factor(numerator), "/", *_factor(denominator, Product)]
        case Sum(terms):
            return _sum(terms)
        case Product(factors):
            return _product(factors)
        case Minus(FractionNode(numerator, denominator)) if not _divides(numerator):
            return [Math(Minus(numerator)), "/", *_factor(denominator, Product)]
        case Minus(operand):
            first, *rest = one_line(operand)
            return [Math(Minus(first.shown)), *rest] if isinstance(first, Math) else [Math(shown)]
    return [Math(shown)]


def _divides(shown: Tree) -> bool:
    return any(isinstance(each, FractionNode) for each in nodes(shown))


def _factor(shown: Tree, *more: type[Tree]) -> Line:
    """Return one side of a fraction, in brackets where it needs them."""
    return ["(", *one_line(shown), ")"] if isinstance(shown, (Sum, Minus, FractionNode, *more)) else one_line(shown)


def _sum(terms: tuple[Tree, ...]) -> Line:
    """Return a sum; terms without fractions between two others stay together, with the spaces of mathematics."""
    line: Line = []
    for divided, group in groupby(terms, _divides):
        some = tuple(group)
        for part in some if divided else [some[0] if len(some) == 1 else Sum(some)]:
            first, *rest = one_line(part)
            if line and isinstance(first, Math) and _is_negative(first.shown):
                line = [*line, Math(_subtracted(first.shown)), *rest]
            else:
                line = [*line, *([" + "] if line else []), first, *rest]
    return line


def _is_negative(shown: Tree) -> bool:
    return isinstance(shown.terms[0] if isinstance(shown, Sum) else shown, Minus)


def _subtracted(shown: Tree) -> Tree:
    """Return a tree that begins with a minus sign after nothing, so that the sign has the spaces of a subtraction."""
    return Sum((NOTHING, *(shown.terms if isinstance(shown, Sum) else (shown,))))


def _product(factors: tuple[Tree, ...]) -> Line:
    line: Line = []
    for divided, group in groupby(factors, _divides):
        some = tuple(group)
        if divided:
            line = [*line, *(piece for each in some for piece in ("(", *one_line(each), ")"))]
        else:
            line = [*line, Math(some[0] if len(some) == 1 else Product(some))]
    return line


def _without_stacks(shown: Tree) -> Tree:
    """Return a call, a root or a power with a slash in the fractions in it, because it is not divided into pieces."""
    match shown:
        case Call(function, arguments):
            return Call(function, tuple(mapped(each, _slashed) for each in arguments))
        case Root(operand):
            return Root(mapped(operand, _slashed))
        case Power(base, exponent):
            return Power(mapped(base, _slashed), exponent)
    return shown


def _slashed(shown: Tree) -> Tree:
    """Return a fraction as a product with a slash."""
    match shown:
        case FractionNode(numerator, denominator):
            grouped = Stretch((), (denominator,), True, True) if isinstance(denominator, Product) else denominator
            return Product((numerator, SLASH, grouped))
    return shown
