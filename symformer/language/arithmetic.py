"""Plain arithmetic over the alphabet, read from text.

Text from users and files never reaches ``eval`` or SymPy's own parser (where ``E``, ``S`` and ``N`` already mean
something, and which runs code): Python's ``ast`` reads the text, and only the nodes named here are understood.
"""

from __future__ import annotations

import ast
import warnings

from sympy import Expr, Integer, Rational, ceiling, expand, floor

from .errors import QUOTED, ArithmeticTextError, UnknownNameError, listed, quoted
from .limits import CALLS, SYMBOL, Bound
from .symbols import LETTERED, SYMBOLS

MAX_LENGTH = 2_000
MAX_DEPTH = 60
MAX_EXPONENT = 12
MAX_INTEGER = 10**15  # larger than any size, count of tokens or row of a model

NO_NUMBERS = ("nan", "inf", "infinity")
_ONE_ARGUMENT = ("ceil", "floor")
_Read = tuple[Expr, Bound]  # an expression, and what it has at most once it is multiplied out


def parse(text: str) -> Expr:
    """The SymPy expression that ``text`` spells: integers, the alphabet, ``+ - * / // **``, ceil, floor, max, min.

    Raises ArithmeticTextError (not arithmetic, or beyond a limit) and UnknownNameError (a name outside the alphabet).

    >>> parse("12*L*E**2 + E/2")
    12*E**2*L + E/2
    >>> parse("-(-V//64)")
    ceiling(V/64)
    """
    if len(text) > MAX_LENGTH:
        raise ArithmeticTextError(f"the expression has {len(text):,} characters; at most {MAX_LENGTH:,} are read")
    if not text.isascii() or "#" in text:  # Python would read other alphabets' letters as these, and skip a comment
        raise _not_arithmetic(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _not_arithmetic(text) from None
    return _Reader(text).read(tree.body, 0)[0]


def _not_arithmetic(text: str) -> ArithmeticTextError:
    return ArithmeticTextError(f"{quoted(text)} is not arithmetic; write something like 768 or 4*E")


class _Reader:
    """Reads a tree from its leaves up. How large a result can be is known, and held to its limits, before it is made:
    a power of a sum of powers is a short text and a number of terms that no memory holds.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, node: ast.expr, depth: int) -> _Read:
        if depth > MAX_DEPTH:
            raise ArithmeticTextError(f"the expression is nested more than {MAX_DEPTH} deep")
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() as value):
                return self._integer(value)
            case ast.Constant(value=float() as value):
                written = "written as a whole number: use digits alone" if value.is_integer() else "a whole number"
                raise ArithmeticTextError(f"{value!r} is not {written}; sizes are positive integers")
            case ast.Name(id=name):
                if name not in SYMBOLS and name.lower() in NO_NUMBERS:
                    raise ArithmeticTextError(f"{name} is not a number; sizes are positive integers")
                if name not in SYMBOLS:
                    raise UnknownNameError("symbol", name, SYMBOLS)
                return SYMBOLS[name], SYMBOL
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value, bound = self.read(operand, depth + 1)
                # -(-V//64) is how integers spell a ceiling; SymPy would keep it as -floor(-V/64)
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
                bound = self._held(Bound.call(ast.dump(node), [each for _, each in read]))
                return CALLS[name](*(value for value, _ in read)), bound
        raise ArithmeticTextError(
            f"{quoted(self.text)} is not plain arithmetic: only integers, the symbols {listed(LETTERED)}, "
            "+ - * / // ** and ceil, floor, max, min are read"
        )

    def _integer(self, value: int) -> _Read:
        if value > MAX_INTEGER:
            raise ArithmeticTextError(f"a number of {len(str(value))} digits is larger than {MAX_INTEGER:,}")
        return Integer(value), Bound.number(Integer(value))

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
                bound = self._held(Bound.call(ast.dump(node), [bound]))
                return floor(a / b), bound
            case ast.Pow():
                if not (isinstance(b, Integer) and 0 <= int(b) <= MAX_EXPONENT):
                    raise ArithmeticTextError(
                        f"the exponent {quoted(str(b))[1:-1]} is not a whole number from 0 to {MAX_EXPONENT}, "
                        f"in {quoted(self.text)}"
                    )
                bound = self._held(of_a ** int(b))
                return a ** Integer(b), bound
        raise ArithmeticTextError(f"{quoted(self.text)} uses an operator that is not read: + - * / // ** are")

    def _held(self, bound: Bound) -> Bound:
        if bound.excess:
            raise ArithmeticTextError(f"{quoted(self.text)} multiplied out can have {bound.excess}")
        return bound


def size(text: str) -> Expr:
    """A size from text: a positive integer up to 10**15, or arithmetic over the alphabet.

    Raises ArithmeticTextError and UnknownNameError.

    >>> size("768"), size("4*E")
    (768, 4*E)
    """
    value = parse(text)
    if wrong := fault(value):
        raise ArithmeticTextError(f"{text.strip() if len(text) <= QUOTED else quoted(text)} {wrong}")
    return value


def fault(value: Expr) -> str:
    """What keeps an expression from ever being a size, for a sentence that starts with it; empty where nothing does."""
    if not value.is_number:
        if value.is_integer is False:
            return "is whole at no sizes; a size is a positive integer"
        return "is positive at no sizes; a size is at least 1" if value.is_positive is False else ""
    if not isinstance(value, Rational):
        return "divides by zero"
    if not isinstance(value, Integer):
        return "is not a whole number; a size is a positive integer"
    if not value > 0:
        return "is not positive; a size is at least 1"
    return f"is larger than {MAX_INTEGER:,}, the largest size that is read" if value > MAX_INTEGER else ""
