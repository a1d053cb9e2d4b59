"""Arithmetic on formulas: operators and units, without the formulas themselves."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sympy import Add, Expr, Integer, Pow, Rational, Symbol, cancel, expand, fraction, together

from ..language.errors import SizeError
from ..language.limits import MAX_DEGREE, MAX_DIGITS, ExpansionBound, Quotient, digits
from ..language.notation.text import code
from ..language.sizes import format_value
from ..language.symbols import NamedSizes, is_size, symbol

if TYPE_CHECKING:
    from .formula import Formula

MAX_TERMS = 10_000  # terms of a combination before like terms are collected
MAX_CANCELLED = 100  # terms of a numerator and a denominator whose common factors are searched for
_SINGULAR = {"bytes": "byte", "FLOPs": "FLOP", "MACs": "MAC", "elements": "element", "micro-batches": "micro-batch"}
_PLURAL = {one: many for many, one in _SINGULAR.items()}
_FACTOR = r"(?:1|[^\W\d][\w -]*(?:\*\*\d{1,3})?)"
_UNIT = re.compile(rf"|{_FACTOR}(?:\*{_FACTOR})*(?:/(?:{_FACTOR}|\({_FACTOR}(?:\*{_FACTOR})*\)))?")
_FORMS = ("latex", "text", "typst", "code")


class Unit(Counter[str]):
    """A unit as powers of base units: ``FLOPs/byte`` has the powers 1 and -1.

    >>> Unit.read("FLOPs/byte"), Unit.read("of the peak")
    (FLOPs/byte, 1)
    >>> Unit.read("FLOPs") / Unit.read("elements")
    FLOPs/element
    """

    @classmethod
    def read(cls, spelt: str) -> Unit:
        """Parse a unit. A share, such as "of the peak", has no unit. Raises SizeError."""
        found = cls()
        if not isinstance(spelt, str) or not _UNIT.fullmatch(spelt):
            raise SizeError(f"{format_value(spelt)} is not a unit; write one such as 'bytes' or 'FLOPs/byte'")
        if spelt.startswith("of the") or spelt in ("", "1"):
            return found
        for place, side in enumerate(spelt.split("/")):
            for factor in re.split(r"(?<!\*)\*(?!\*)", side.strip("()")):
                name, _, power = factor.partition("**")
                if name != "1":
                    found[_PLURAL.get(name, name)] += (-1 if place else 1) * int(power or 1)
        return found

    def __mul__(self, other: Unit) -> Unit:
        return self._plus(other, 1)

    def __truediv__(self, other: Unit) -> Unit:
        return self._plus(other, -1)

    def __pow__(self, power: int) -> Unit:
        return Unit({name: own * power for name, own in self.items() if power})

    def _plus(self, other: Unit, sign: int) -> Unit:
        names = dict.fromkeys((*self, *other))
        return Unit({name: power for name in names if (power := self[name] + sign * other[name])})

    def __repr__(self) -> str:
        above = [_power(name, power) for name, power in self.items() if power > 0]
        below = [_power(_SINGULAR.get(name, name), -power) for name, power in self.items() if power < 0]
        under = f"/({'*'.join(below)})" if len(below) > 1 else f"/{below[0]}" if below else ""
        return ("*".join(above) or "1") + under


def _power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}**{power}"


def operand(value: object) -> Expr | None:
    """Return a number or a SymPy expression as an exact expression; None for an object of another type.

    A float is the decimal number that Python prints for it. Raises SizeError for a symbol that is not a size.

    >>> operand(3), operand(0.1), operand("E")
    (3, 1/10, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Integral):
        return Integer(int(value))
    if isinstance(value, Fraction):
        return Rational(value.numerator, value.denominator)
    if isinstance(value, float):
        try:
            exact = Fraction(repr(float(value)))
        except ValueError:
            raise SizeError(f"{value} is not a finite number") from None
        return Rational(exact.numerator, exact.denominator)
    if not isinstance(value, Expr):
        return None
    for size in value.free_symbols:
        if not is_size(size):
            raise SizeError(
                f"{size} in {format_value(value)} is a SymPy symbol, but not a size of symformer; import it, as in "
                "`from symformer.symbols import E, L`"
            )
    return value


def size_of(name: Symbol | str, own: Collection[Symbol]) -> Symbol:
    """Return a size of a formula, given as a symbol or as its name. Raises UnknownNameError, SizeError."""
    if isinstance(name, Symbol):
        operand(name)
        return name
    if not isinstance(name, str):
        raise SizeError(f"{format_value(name)} is not a size; name one, such as 'L' or symformer.symbols.L")
    return symbol(name, own)


def checked(expr: Expr, name: str) -> Expr:
    """Return an expression unchanged. Raises SizeError if it is not arithmetic or too long to expand."""
    try:
        bound = ExpansionBound.of(expr, {})
    except ValueError:
        raise SizeError(f"{name} is not arithmetic over sizes: {format_value(expr)}") from None
    excess = ""
    if bound.degree > MAX_DEGREE:
        excess = f"degree {bound.degree:,}, more than the limit of {MAX_DEGREE}"
    elif bound.terms > MAX_TERMS:
        excess = f"{bound.terms:,} terms, more than the limit of {MAX_TERMS:,}"
    elif max(bound.above, bound.below) >= 10 ** (MAX_DIGITS * 10):
        excess = f"coefficients of {digits(max(bound.above, bound.below)):,} digits"
    if excess:
        raise SizeError(f"{name} can have {excess}; give sizes as numbers first, as in .partial(E=768)")
    return expr


def has_quotient(expr: Expr) -> bool:
    """Return whether an expression has a sum in a denominator."""
    return any(power.exp.is_negative and isinstance(power.base, Add) for power in expr.atoms(Pow))


def canonical(expr: Expr) -> Expr:
    """Return the same expression for all expressions that are equal as quotients of polynomials. Raises SizeError."""
    if not has_quotient(expr):
        return expand(expr)
    if excess := Quotient.of(expr).excess:
        raise SizeError(f"the sum of quotients can have {excess}; combine their values instead")
    above, below = map(expand, fraction(together(expr)))
    if len(Add.make_args(above)) + len(Add.make_args(below)) <= MAX_CANCELLED:
        above, below = map(expand, fraction(cancel(above / below)))
    return above / below if isinstance(below, Add) else expand(above / below)


def same(left: Expr, right: Expr) -> bool:
    """Return whether two expressions are equal as quotients of polynomials."""
    if not has_quotient(left) and not has_quotient(right):
        return bool(expand(left - right) == 0)
    (above, below), (over, under) = fraction(together(left)), fraction(together(right))
    return bool(expand(above * under - over * below) == 0)


class Operators:
    """The operators of a formula. Its class has ``expanded``, ``unit``, ``id``, ``accepted_sizes`` and ``combined``."""

    # SymPy and NumPy leave `E * formula` and `np.int64(2) * formula` to the formula.
    _op_priority: ClassVar[float] = 20.0
    __array_ufunc__: ClassVar[None] = None

    id: str

    @property
    def expanded(self) -> Expr:
        """The expanded expression."""
        raise NotImplementedError

    @property
    def accepted_sizes(self) -> NamedSizes:
        """The sizes that it accepts values for."""
        raise NotImplementedError

    @property
    def unit(self) -> str:
        """The unit, such as ``"FLOPs"`` or ``"FLOPs/byte"``."""
        raise NotImplementedError

    @abstractmethod
    def combined(self, id: str, expr: Expr, unit: str, others: Iterable[Formula] = ()) -> Formula:
        """Return an expression of this formula, and of others, as a formula of its own."""

    def __add__(self, other: object) -> Any:
        return self._with(other, "+")

    def __radd__(self, other: object) -> Any:
        return self._with(other, "+", before=True)

    def __sub__(self, other: object) -> Any:
        return self._with(other, "-")

    def __rsub__(self, other: object) -> Any:
        return self._with(other, "-", before=True)

    def __mul__(self, other: object) -> Any:
        return self._with(other, "*")

    def __rmul__(self, other: object) -> Any:
        return self._with(other, "*", before=True)

    def __truediv__(self, other: object) -> Any:
        return self._with(other, "/")

    def __rtruediv__(self, other: object) -> Any:
        return self._with(other, "/", before=True)

    def __neg__(self) -> Formula:
        return self.combined(f"-{_bracketed(self.id, '*')}", -self.expanded, self.unit)

    def __pos__(self) -> Self:
        return self

    def __pow__(self, power: object) -> Formula:
        if isinstance(power, bool) or not isinstance(power, Integral):
            if isinstance(power, (int, float, Fraction, Expr, Operators)):
                raise SizeError(f"the power of a formula is an integer, not {format_value(power)}")
            return NotImplemented
        exponent = int(power)
        if exponent < 0 and self.expanded == 0:
            raise SizeError(f"{self.id} is 0, so it has no power {exponent}")
        if abs(exponent) > MAX_DEGREE:
            raise SizeError(f"the power {exponent} is more than the limit of {MAX_DEGREE}")
        unit = Unit.read(self.unit) ** exponent
        return self.combined(f"{_bracketed(self.id, '**')}**{exponent}", self.expanded**exponent, repr(unit))

    def _with(self, other: object, sign: str, before: bool = False) -> Any:
        """Return the sum, difference, product or quotient with another operand; ``before`` if it is the left one."""
        if isinstance(other, Operators):
            name, expr, unit, others = other.id, other.expanded, Unit.read(other.unit), [other]
        else:
            read = operand(other)
            if read is None:
                return NotImplemented
            name, expr, others = code(read), read, []
            unit = Unit.read(self.unit) if sign in "+-" else Unit()  # a number added has the unit of the formula
        own = (self.id, self.expanded, Unit.read(self.unit))
        (a, left, of_left), (b, right, of_right) = [(name, expr, unit), own] if before else [own, (name, expr, unit)]
        if sign in "+-" and of_left != of_right:
            raise SizeError(
                f"{a} is in {_units(of_left)} and {b} in {_units(of_right)}, so they cannot be "
                f"{'added' if sign == '+' else 'subtracted'}; multiply one by a formula that converts its unit, or "
                "state its unit with in_unit()"
            )
        if sign == "/" and right == 0:
            raise SizeError(f"{a} is divided by {b if b == '0' else f'{b}, which is 0'}")
        if sign in "+-":
            found, unit = (left + right if sign == "+" else left - right), of_left
        else:
            found, unit = (left * right, of_left * of_right) if sign == "*" else (left / right, of_left / of_right)
        id = f"{_bracketed(a, sign)} {sign} {_bracketed(b, sign, last=True)}"
        return self.combined(id, found, repr(unit), others)  # type: ignore[arg-type]

    def in_unit(self, unit: str) -> Formula:
        """Return the formula with another unit, for a factor that the caller has already included.

        Parameters
        ----------
        unit
            The unit, such as ``"bytes"`` or ``"FLOPs/byte"``.

        Returns
        -------
        Formula
            The same expression with this unit.

        Raises
        ------
        SizeError
            If the unit cannot be read.

        Examples
        --------
        >>> import symformer as sf
        >>> gpt2 = sf.model("gpt2")
        >>> weights = (2 * gpt2.params).in_unit("bytes")  # bfloat16
        >>> (weights + gpt2.formula("kv-cache"))(B=1, C=1024)  # 2*124439808 + 4*12*1024*768
        286628352

        """
        return self.combined(self.id, self.expanded, repr(Unit.read(unit)))

    @property
    def free_symbols(self) -> set[Symbol]:
        """The symbols of the expanded expression, as in SymPy.

        Examples
        --------
        >>> import symformer as sf
        >>> sorted(sf.component("mlp").params.free_symbols, key=str)
        [E, H]

        """
        return set(self.expanded.free_symbols)

    def _sympy_(self) -> Expr:
        """Return the SymPy expression, so that every function of SymPy accepts a formula."""
        return self.expanded

    def _latex(self, printer: object) -> str:
        """Return LaTeX for ``sympy.latex``."""
        return f"{self:latex}"

    def __eq__(self, other: object) -> Any:
        """Return whether both are the same function of the sizes, whatever their units and their order of terms."""
        if isinstance(other, Operators):
            return self.expanded == other.expanded or same(self.expanded, other.expanded)
        if isinstance(other, float) and other != other:  # nan
            return False
        if isinstance(other, bool) or not isinstance(other, int | float | Fraction | Integral | Expr):
            return NotImplemented
        if isinstance(other, float) and abs(other) == float("inf"):
            return False
        expr = other if isinstance(other, Expr) else operand(other)
        return expr is not None and same(self.expanded, expr)

    def __hash__(self) -> int:
        """Return the hash of the canonical expression: equal formulas and the integer of a constant one agree."""
        found = self._canonical
        return hash(Fraction(int(found.p), int(found.q))) if isinstance(found, Rational) else hash(found)

    @cached_property
    def _canonical(self) -> Expr:
        return canonical(self.expanded)

    def __format__(self, spec: str) -> str:
        """Return the formula, or its value for a number format.

        An empty format gives ``str(formula)``; ``latex``, ``text``, ``typst`` and ``code`` give these forms; any other
        format, such as ``,`` or ``.3e``, is for the value. Raises SizeError if a size has no value.
        """
        if not spec:
            return str(self)
        if spec in _FORMS:
            return str(getattr(self, spec)())
        value = self._number()
        if isinstance(value, Fraction):
            return format(float(value), spec)
        return format(value, spec)

    @abstractmethod
    def _number(self) -> int | Fraction:
        """Return the value at the known sizes."""

    def __int__(self) -> int:
        value = self._number()
        if value != int(value):
            raise SizeError(f"{self.id} is {value}, not an integer; use float() or value()")
        return int(value)

    def __float__(self) -> float:
        value = self._number()
        try:
            return float(value)
        except OverflowError:
            raise SizeError(f"{self.id} has {digits(int(value))} digits, too many for a float; use int()") from None


def _units(unit: Unit) -> str:
    return repr(unit) if unit else "a number without unit"


def _bracketed(name: str, sign: str, last: bool = False) -> str:
    """Return an id in parentheses if it is a sum, or a product that is divided by or raised to a power."""
    spelt = " + " in name or " - " in name
    product = " * " in name or " / " in name or name.startswith("-")
    needed = (spelt and (sign not in "+-" or (last and sign == "-"))) or (
        product and (sign == "**" or (last and sign == "/"))
    )
    whole = name.startswith("(") and name.endswith(")") and name.count("(") == 1
    return f"({name})" if needed and not whole else name


def substituted(
    given: tuple[object, ...], named: Mapping[str, object], own: Collection[Symbol]
) -> dict[Symbol, Expr | str]:
    """Return the substitutions of ``subs``: a pair, a mapping, a list of pairs, or keywords. Raises SizeError."""
    pairs: list[tuple[object, object]]
    match given:
        case ():
            pairs = []
        case (Mapping() as mapping,):
            pairs = list(mapping.items())
        case (size, value) if isinstance(size, Symbol | str):
            pairs = [(size, value)]
        case (list() | tuple() as several,) if all(
            isinstance(each, tuple | list) and len(each) == 2 for each in several
        ):
            pairs = [(each[0], each[1]) for each in several]
        case _:
            raise SizeError("subs needs a size and its value, a mapping or a list of pairs, such as subs({'L': 24})")
    found: dict[Symbol, Any] = {}
    for size, value in [*pairs, *named.items()]:
        target = size_of(size, own)
        if target in found:
            raise SizeError(f"{target} is substituted twice; keep one")
        found[target] = value
    if not found:
        raise SizeError("subs needs a size and its value, such as subs('L', 24)")
    return found
