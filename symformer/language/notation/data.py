"""Display trees as plain data, which programs in other languages can display and evaluate."""

from __future__ import annotations

from .display_tree import Call, Cross, FractionNode, Minus, Number, Power, Product, Size, Sum, Times, Tree

Data = str | list["Data"]  # digits, the name of a size, or a list of an operation and its operands


def data(shown: Tree) -> Data:
    """Return a tree as nested lists, with numbers as strings of digits so that no reader rounds them.

    >>> from symformer.language.symbols import E, L, V
    >>> from symformer.language.notation.display_tree import tree
    >>> data(tree(12*L*E**2 - V/2))
    ['+', ['*', '12', 'L', ['^', 'E', '2']], ['-', ['/', 'V', '2']]]
    """
    match shown:
        case Number(number):
            return str(number) if number >= 0 else ["-", str(-number)]
        case Size(symbol):
            return str(symbol.name)
        case Sum(terms):
            return ["+", *map(data, terms)]
        case Minus(operand):
            return ["-", data(operand)]
        case Product(factors) | Times(factors) | Cross(factors):
            return ["*", *map(data, factors)]
        case Power(base, exponent):
            return ["^", data(base), str(exponent)]
        case FractionNode(numerator, denominator):
            return ["/", data(numerator), data(denominator)]
        case Call(function, arguments):
            return [function, *map(data, arguments)]
    raise TypeError(f"this tree has no value: {shown!r}")
