"""Plain arithmetic over the alphabet, read from text.

Text from users and files never reaches ``eval`` or SymPy's own parser (where ``E``, ``S`` and ``N`` already mean
something, and which runs code): Python's ``ast`` reads the text, and only the nodes named here are understood.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from sympy import Expr, Integer, Max, Min, Rational, ceiling, floor

from .errors import ArithmeticTextError, UnknownNameError
from .symbols import SYMBOLS

MAX_LENGTH = 2_000
MAX_DEPTH = 60
MAX_EXPONENT = 12
MAX_INTEGER = 10**15  # larger than any size, count of tokens or row of a model

_CALLS: dict[str, tuple[Callable[..., Expr], int | None]] = {
    "ceil": (ceiling, 1),
    "floor": (floor, 1),
    "max": (Max, None),
    "min": (Min, None),
}


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
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ArithmeticTextError(f"{text!r} is not arithmetic; write something like 768 or 4*E") from None
    return _Reader(text).read(tree.body, 0)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, node: ast.expr, depth: int) -> Expr:
        if depth > MAX_DEPTH:
            raise ArithmeticTextError(f"the expression is nested more than {MAX_DEPTH} deep")
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() as value):
                return self._integer(value)
            case ast.Constant(value=float() as value):
                raise ArithmeticTextError(f"{value!r} is not a whole number; sizes are positive integers")
            case ast.Name(id=name):
                if name not in SYMBOLS:
                    raise UnknownNameError("symbol", name, SYMBOLS)
                return SYMBOLS[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self.read(operand, depth + 1)
                # -(-V//64) is how integers spell a ceiling; SymPy would keep it as -floor(-V/64)
                return ceiling(-value.args[0]) if isinstance(value, floor) else -value
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand, depth + 1)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._binary(operator, self.read(left, depth + 1), self.read(right, depth + 1))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
                function, arity = _CALLS[name]
                if not args or (arity is not None and len(args) != arity):
                    raise ArithmeticTextError(f"{name} takes {arity or 'one or more'} argument(s), not {len(args)}")
                return function(*(self.read(argument, depth + 1) for argument in args))
        raise ArithmeticTextError(
            f"{self.text!r} is not plain arithmetic: only integers, the symbols {', '.join(SYMBOLS)}, "
            "+ - * / // ** and ceil, floor, max, min are read"
        )

    def _integer(self, value: int) -> Expr:
        if value > MAX_INTEGER:
            raise ArithmeticTextError(f"a number of {len(str(value))} digits is larger than {MAX_INTEGER:,}")
        return Integer(value)

    def _binary(self, operator: ast.operator, left: Expr, right: Expr) -> Expr:
        match operator:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Div() | ast.FloorDiv():
                if right == 0:
                    raise ArithmeticTextError(f"{self.text!r} divides by zero")
                quotient = left / right
                return floor(quotient) if isinstance(operator, ast.FloorDiv) else quotient
            case ast.Pow():
                if not (isinstance(right, Integer) and 0 <= int(right) <= MAX_EXPONENT):
                    raise ArithmeticTextError(
                        f"the exponent {right} is not a whole number from 0 to {MAX_EXPONENT}, in {self.text!r}"
                    )
                return left ** Integer(right)
        raise ArithmeticTextError(f"{self.text!r} uses an operator that is not read: + - * / // ** are")


def size(text: str) -> Expr:
    """A size from text: a positive integer up to 10**15, or arithmetic over the alphabet.

    Raises ArithmeticTextError and UnknownNameError.

    >>> size("768"), size("4*E")
    (768, 4*E)
    """
    value = parse(text)
    if value.is_number:
        if isinstance(value, Rational) and not isinstance(value, Integer):
            raise ArithmeticTextError(f"{text} is not a whole number; a size is a positive integer")
        if not value > 0:
            raise ArithmeticTextError(f"{text} is not positive; a size is at least 1")
        if value > MAX_INTEGER:
            raise ArithmeticTextError(f"{text} is larger than {MAX_INTEGER:,}, the largest size that is read")
    return value
