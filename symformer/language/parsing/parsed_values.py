"""Values of a parsed formula and exact arithmetic on them, with limits checked before each operation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr, Integer, Poly, PolynomialError, Pow, Rational, Symbol, bernoulli, ceiling, expand, floor

from ..errors import ReadingError, quoted
from ..limits import ExpansionBound
from .tokens import MAX_DIGITS, Token

MAX_EXPONENT = 12  # maximum exponent of an expression with names
MAX_POWER = 300  # maximum exponent of a number
HALF = Rational(1, 2)


@dataclass(frozen=True)
class Value:
    expr: Expr
    bound: ExpansionBound
    kind: str = ""  # number, fraction (of two numbers), name, label (a name with a subscript), group
    last: Token | None = None


class Arithmetic:
    """The arithmetic of one formula, whose text appears in every error message."""

    def __init__(self, text: str) -> None:
        self.text = text

    def negative(self, value: Value) -> Value:
        if isinstance(value.expr, floor) and value.expr.args[0].could_extract_minus_sign():  # -(-V//64)
            return replace(value, expr=ceiling(-value.expr.args[0]))
        return replace(value, expr=-value.expr)

    def raised(self, base: Value, exponent: Expr) -> Value:
        if exponent == HALF:
            return self.root(base)
        most = MAX_POWER if base.expr.is_number else MAX_EXPONENT
        if not isinstance(exponent, Integer) or abs(int(exponent)) > most:
            what = quoted(str(exponent)) if len(str(exponent)) < 40 else "it"
            raise ReadingError(f"the exponent {what} in {quoted(self.text)} is not an integer from -{most} to {most}")
        power = int(exponent)
        if isinstance(base.expr, Rational) and base.expr != 0:
            if abs(power) * max(len(str(base.expr.p)), len(str(base.expr.q))) > 2 * MAX_DIGITS:
                raise ReadingError(f"a power in {quoted(self.text)} has more than {MAX_DIGITS} digits")
            number = base.expr**exponent
            return Value(number, self.held(ExpansionBound.number(number)))
        if power < 0 and self.is_zero(base):
            raise ReadingError(f"{quoted(self.text)} divides by zero")
        bound = self.held(base.bound**power if power >= 0 else base.bound.inverse() ** -power)
        return Value(base.expr**exponent, bound)

    def root(self, base: Value) -> Value:
        bound = self.held(ExpansionBound.call(("sqrt", base.expr), [base.bound]))
        if base.expr.is_negative:
            raise ReadingError(f"{quoted(self.text)} has the root of a negative number")
        return Value(Pow(base.expr, HALF), bound, "group")

    def closed(self, body: Expr, index: Symbol, low: Expr, high: Expr) -> Expr:
        try:
            powers = Poly(expand(body), index).terms() if body.has(index) else [((0,), body)]
        except PolynomialError:
            powers = []
        if not powers or max(power for (power,), _ in powers) > MAX_EXPONENT or any(c.has(index) for _, c in powers):
            raise ReadingError(f"the summand in {quoted(self.text)} is not a polynomial in {index}")
        found: Expr = Integer(0)
        for (power,), coefficient in powers:
            sums = bernoulli(power + 1, high + 1) - bernoulli(power + 1, low)
            found += coefficient * expand(sums / (power + 1))
        return found

    def times(self, value: Value, other: Value) -> Value:
        return Value(value.expr * other.expr, self.held(value.bound * other.bound), "group", other.last)

    def divided(self, value: Value, operator: Token, other: Value) -> Value:
        if self.is_zero(other):
            raise ReadingError(f"{quoted(self.text)} divides by zero")
        bound = self.held(value.bound * other.bound.inverse())
        quotient = value.expr / other.expr
        if operator.kind == "//":
            bound = self.held(ExpansionBound.call(("//", quotient), [bound]))
            return Value(floor(quotient), bound, "group", other.last)
        return Value(quotient, bound, "group", other.last)

    def is_zero(self, value: Value) -> bool:
        return bool(expand(value.expr) == 0)

    def held(self, bound: ExpansionBound) -> ExpansionBound:
        if bound.excess:
            raise ReadingError(f"{quoted(self.text)} can have {bound.excess} when expanded")
        return bound
