"""A parser for plain arithmetic over the alphabet.

Text from users and files never reaches ``eval`` or SymPy's own parser, which runs code and gives ``E``, ``S`` and ``N``
other meanings. Python's ``ast`` parses the text, and only the nodes listed here are accepted.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Mapping
from types import MappingProxyType

from sympy import Expr, Integer, Rational, Symbol, ceiling, expand, floor

from .errors import QUOTED, ArithmeticTextError, listed, quoted
from .limits import CALLS, SYMBOL, ExpansionBound
from .symbols import LETTERS, named_symbol, symbol

MAX_LENGTH = 2_000
MAX_DEPTH = 60
MAX_EXPONENT = 12
MAX_INTEGER = 10**15  # larger than any size, count of tokens or row of a model

NO_NUMBERS = ("nan", "inf", "infinity")
_ONE_ARGUMENT = ("ceil", "floor")
_Read = tuple[Expr, ExpansionBound]  # an expression and the bound on its expanded form


def parse(
    text: str,
    own: Collection[Symbol] = (),
    *,
    any_name: bool = False,
    names: Mapping[str, Expr] = MappingProxyType({}),
    shown: str = "",
) -> Expr:
    """Parse arithmetic to a SymPy expression.

    Parameters
    ----------
    text
        Integers, names of sizes, ``+ - * / // **``, ``ceil``, ``floor``, ``max`` and ``min``.
    own
        The sizes of a model, which may be named as well as the letters of the alphabet.
    any_name
        Accept every name, for formulas that symformer saved itself.
    names
        Further names that may occur, each with its value.
    shown
        The text that messages quote, if it is not ``text``.

    Raises
    ------
    ArithmeticTextError
        If the text is not arithmetic or exceeds a limit.
    UnknownNameError
        If a name is neither in the alphabet nor in ``own``.

    Examples
    --------
    >>> parse("12*L*E**2 + E/2")
    12*E**2*L + E/2
    >>> parse("-(-V//64)")
    ceiling(V/64)

    """
    if len(text) > MAX_LENGTH:
        raise ArithmeticTextError(f"the expression has {len(text):,} characters; the limit is {MAX_LENGTH:,}")
    if not text.isascii() or "#" in text:  # Python normalizes letters of other alphabets, and skips comments
        raise _not_arithmetic(shown or text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _not_arithmetic(shown or text) from None
    return _Reader(shown or text, own, any_name, names).read(tree.body, 0)[0]


def _not_arithmetic(text: str) -> ArithmeticTextError:
    return ArithmeticTextError(f"{quoted(text)} is not arithmetic; write something like 768 or 4*E")


class _Reader:
    """A bottom-up reader of a syntax tree. It checks the maximum size of each result before computing it, because a
    short text, such as a power of a sum of powers, can have more terms than fit in memory.
    """

    def __init__(self, text: str, own: Collection[Symbol], any_name: bool, names: Mapping[str, Expr]) -> None:
        self.text, self.own, self.any_name, self.names = text, own, any_name, names

    def read(self, node: ast.expr, depth: int) -> _Read:
        if depth > MAX_DEPTH:
            raise ArithmeticTextError(f"the expression is nested more than {MAX_DEPTH} deep")
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() as value):
                return self._integer(value)
            case ast.Constant(value=float() as value):
                if value.is_integer():
                    raise ArithmeticTextError(f"{value!r} is not written as an integer; use digits only")
                raise ArithmeticTextError(f"{value!r} is not an integer; sizes are positive integers")
            case ast.Name(id=name):
                if name in self.names:
                    return self.names[name], ExpansionBound.of(self.names[name], {})
                if self.any_name:
                    return named_symbol(name), SYMBOL
                if name.lower() in NO_NUMBERS:
                    raise ArithmeticTextError(f"{name} is not a number; sizes are positive integers")
                return symbol(name, self.own), SYMBOL
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value, bound = self.read(operand, depth + 1)
                # -(-V//64) is a ceiling in integer arithmetic; SymPy would keep it as -floor(-V/64)
                spelt = isinstance(value, floor) and value.args[0].could_extract_minus_sign()
                return (ceiling(-value.args[0]) if spelt else -value), bound
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand, depth + 1)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._binary(node, operator, self.read(left, depth + 1), self.read(right, depth + 1))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in CALLS:
                if not args or (name in _ONE_ARGUMENT and len(args) != 1):
                    takes = "1" if name in _ONE_ARGUMENT else "one or more"
                    raise ArithmeticTextError(f"{name} takes {takes} argument(s), not {len(args)}")
                read = [self.read(argument, depth + 1) for argument in args]
                bound = self._held(ExpansionBound.call(ast.dump(node), [each for _, each in read]))
                return CALLS[name](*(value for value, _ in read)), bound
        raise ArithmeticTextError(
            f"{quoted(self.text.strip())} is not plain arithmetic; use only integers, the symbols {listed(LETTERS)}, "
            "+ - * / // ** and ceil, floor, max, min"
        )

    def _integer(self, value: int) -> _Read:
        if value > MAX_INTEGER:
            raise ArithmeticTextError(f"a number of {len(str(value))} digits is larger than {MAX_INTEGER:,}")
        return Integer(value), ExpansionBound.number(Integer(value))

    def _binary(self, node: ast.BinOp, operator: ast.operator, left: _Read, right: _Read) -> _Read:
        (a, of_a), (b, of_b) = left, right
        match operator:
            case ast.Add():
                bound = self._held(of_a + of_b)
                return a + b, bound
            case ast.Sub():
                bound = self._held(of_a + of_b)
                return a - b, bound
            case ast.Mult():
                bound = self._held(of_a * of_b)
                return a * b, bound
            case ast.Div() | ast.FloorDiv():
                if expand(b) == 0:
                    raise ArithmeticTextError(f"{quoted(self.text)} divides by zero")
                bound = self._held(of_a * of_b.inverse())
                if isinstance(operator, ast.Div):
                    return a / b, bound
                bound = self._held(ExpansionBound.call(ast.dump(node), [bound]))
                return floor(a / b), bound
            case ast.Pow():
                if not (isinstance(b, Integer) and 0 <= int(b) <= MAX_EXPONENT):
                    raise ArithmeticTextError(
                        f"the exponent {quoted(str(b))[1:-1]} is not an integer from 0 to {MAX_EXPONENT}, "
                        f"in {quoted(self.text)}"
                    )
                bound = self._held(of_a ** int(b))
                return a ** Integer(b), bound
        raise ArithmeticTextError(f"{quoted(self.text)} uses an unsupported operator; use + - * / // **")

    def _held(self, bound: ExpansionBound) -> ExpansionBound:
        if bound.excess:
            raise ArithmeticTextError(f"{quoted(self.text)} can have {bound.excess} when expanded")
        return bound


def size(text: str, own: Collection[Symbol] = ()) -> Expr:
    """Parse a size: a positive integer up to 10**15, or arithmetic over the alphabet.

    Raises ArithmeticTextError and UnknownNameError.

    >>> size("768"), size("4*E")
    (768, 4*E)
    """
    value = parse(text, own)
    if wrong := fault(value):
        raise ArithmeticTextError(f"{text.strip() if len(text) <= QUOTED else quoted(text)} {wrong}")
    return value


def fault(value: Expr) -> str:
    """Return why an expression can never be a size, as a predicate for a message; empty if it can."""
    if not value.is_number:
        if value.is_integer is False:
            return "is never an integer; a size is a positive integer"
        return "is never positive; a size is a positive integer" if value.is_positive is False else ""
    if not isinstance(value, Rational):
        return "divides by zero"
    if not isinstance(value, Integer):
        return "is not an integer; a size is a positive integer"
    if not value > 0:
        return "is not positive; a size is a positive integer"
    return f"is larger than {MAX_INTEGER:,}, the largest supported size" if value > MAX_INTEGER else ""
