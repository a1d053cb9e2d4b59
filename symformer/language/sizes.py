"""Values for symbols: parsing them from text, checking them against a model's conditions, and substituting them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Integral, Real
from typing import ClassVar

from sympy import Expr, Integer, Rational, S, Symbol, cancel, floor, fraction

from .arithmetic import MAX_INTEGER, fault, size
from .errors import ArithmeticTextError, SizeError, UnknownNameError
from .limits import ExpansionBound, digits
from .notation.text import text
from .symbols import is_size, letter, symbol

MAX_TERMS = 100  # of a size defined by other sizes: formulas contain powers of it and products with others

RATES, MAX_RATE = ("N_peak", "N_bw"), 10**18  # rates of a device exceed every size and count of a model

Numbers = dict[Symbol, int]
Relations = dict[Symbol, Expr]


class Condition(ABC):
    """A condition under which a formula holds; each subclass is a dataclass of the sizes it relates."""

    @property
    def symbols(self) -> set[Symbol]:
        """The sizes in the condition."""
        return {size for term in self.terms for size in term.free_symbols}

    @abstractmethod
    def __str__(self) -> str:
        """Return the condition as a phrase, such as "A divides E"."""

    @property
    def terms(self) -> tuple[Expr, ...]:
        """The expressions that the condition relates, in the order of its fields."""
        fields = [each for value in vars(self).values() for each in (value if isinstance(value, tuple) else (value,))]
        return tuple(each for each in fields if isinstance(each, Expr))

    @abstractmethod
    def violation(self, *values: object) -> str:
        """Return the error message for a violation, given the values of the terms."""

    @abstractmethod
    def check(self, numbers: Mapping[Symbol, int]) -> None:
        """Raise SizeError if the condition is known to be violated."""

    def moved(self, values: Mapping[Symbol, Expr]) -> Condition | None:
        """Return the condition with sizes replaced by expressions, or None if it then always holds.

        Raises SizeError if it is violated, and TypeError if the result is not a condition of this class.
        """
        if not self.symbols & values.keys():
            return self
        self.check({size: int(value) for size, value in values.items() if isinstance(value, Integer)})
        parts: dict[str, object] = {}
        for name, part in vars(self).items():
            parts[name] = part
            if isinstance(part, Expr):
                parts[name] = part.xreplace(dict(values))
                if isinstance(part, Symbol) and self.named and not isinstance(parts[name], Symbol):
                    raise TypeError(f"{self} needs a size")
        found = replace(self, **parts)  # type: ignore[type-var]
        found.check({})
        return found if found.symbols else None

    named: ClassVar[bool] = False  # whether its sizes are symbols, not expressions


@dataclass(frozen=True)
class Divides(Condition):
    """The condition that ``dividend`` is an integer multiple of ``divisor``."""

    divisor: Expr
    dividend: Expr
    remedy: str = "choose a multiple"

    def __str__(self) -> str:
        return f"{text(self.divisor)} divides {text(self.dividend)}"

    def follows(self, other: Divides) -> bool:
        """Return True if this condition follows from another one."""
        times, below = fraction(cancel(self.dividend * other.divisor / (self.divisor * other.dividend)))
        return bool(below == 1 and times.is_integer)

    def violation(self, *values: object) -> str:
        """Return the error message, given the values of the divisor and the dividend."""
        divisor, dividend = values
        if self.dividend.is_Integer:
            what = f"{text(self.divisor)}={divisor} does not divide {text(self.dividend)}"
            return f"{what} ({_meaning(self.divisor)}); {self.remedy}"
        by = text(self.divisor) if self.divisor.is_Integer else f"{text(self.divisor)}={divisor}"
        names = _meaning(self.dividend) + ("" if self.divisor.is_Integer else f", {_meaning(self.divisor)}")
        return f"{text(self.dividend)}={dividend} is not a multiple of {by} ({names}); {self.remedy}"

    def check(self, numbers: Mapping[Symbol, int]) -> None:
        """Raise SizeError if both sizes have values and the divisor does not divide the dividend."""
        divisor, dividend = substitute(self.divisor, numbers), substitute(self.dividend, numbers)
        if divisor.is_number and dividend.is_number and (divisor == 0 or not isinstance(dividend / divisor, Integer)):
            raise SizeError(self.violation(divisor, dividend))


@dataclass(frozen=True)
class NotMultiple(Condition):
    """The condition that ``dividend`` is not an integer multiple of ``divisor``."""

    divisor: Expr
    dividend: Expr
    because: str

    def __str__(self) -> str:
        return f"{text(self.dividend)} is not a multiple of {text(self.divisor)}"

    def violation(self, *values: object) -> str:
        """Return the error message, given the values of the divisor and the dividend."""
        divisor, dividend = values
        return (
            f"the formula does not hold for {text(self.dividend)}={dividend}, a multiple of {divisor}: {self.because}"
        )

    def check(self, numbers: Mapping[Symbol, int]) -> None:
        """Raise SizeError if both sizes have values and the divisor divides the dividend."""
        divisor, dividend = substitute(self.divisor, numbers), substitute(self.dividend, numbers)
        if divisor.is_number and dividend.is_number and isinstance(dividend / divisor, Integer):
            raise SizeError(self.violation(divisor, dividend))


@dataclass(frozen=True)
class Excludes(Condition):
    """The condition that the given sizes are not all 1."""

    ones: tuple[Symbol, ...]
    because: str

    def moved(self, values: Mapping[Symbol, Expr]) -> Condition | None:
        """Return the condition without the sizes replaced by other numbers than 1, or None if it then always holds."""
        replaced = [values.get(size, size) for size in self.ones]
        if any(isinstance(each, Integer) and each != 1 for each in replaced):
            return None
        ones = tuple(each for each in replaced if each != 1)
        if not all(isinstance(each, Symbol) for each in ones):
            raise TypeError(f"{self} needs sizes")
        found = Excludes(ones, self.because)
        if not ones:
            self.check(dict.fromkeys(self.ones, 1))
        return found

    def __str__(self) -> str:
        none = "is not" if len(self.ones) == 1 else "are not both" if len(self.ones) == 2 else "are not all"
        return f"{' and '.join(map(str, self.ones))} {none} 1"

    def violation(self, *values: object) -> str:
        """Return the error message."""
        return f"the formula does not hold for {' and '.join(f'{size}=1' for size in self.ones)}: {self.because}"

    def check(self, numbers: Mapping[Symbol, int]) -> None:
        """Raise SizeError if all of the sizes are 1."""
        if all(numbers.get(size) == 1 for size in self.ones):
            raise SizeError(self.violation())


@dataclass(frozen=True)
class AtMost(Condition):
    """The condition that ``low`` is at most ``high``."""

    low: Expr
    high: Expr
    because: str = "choose a larger value"
    of_run: bool = False  # whether it concerns the operations of a run only, not the weights and the cache

    def __str__(self) -> str:
        return f"{text(self.low)} is at most {text(self.high)}"

    def violation(self, *values: object) -> str:
        """Return the error message, given the values of both sides."""
        low, high = values
        return f"{_spell(self.high, high)} is less than {_spell(self.low, low)}; {self.because}"

    def check(self, numbers: Mapping[Symbol, int]) -> None:
        """Raise SizeError if both have values and ``low`` is larger."""
        low, high = substitute(self.low, numbers), substitute(self.high, numbers)
        known = low.is_number and high.is_number
        if known and not (low.is_comparable and high.is_comparable and low <= high):
            raise SizeError(self.violation(low, high))


@dataclass(frozen=True)
class Differs(Condition):
    """The condition that a size differs from another one or from a number."""

    left: Symbol
    right: Symbol | Integer
    because: str
    named: ClassVar[bool] = True

    def moved(self, values: Mapping[Symbol, Expr]) -> Condition | None:
        """Return the condition with sizes replaced, or None if it then always holds. Raises SizeError, TypeError."""
        if isinstance(self.right, Integer) and isinstance(number := values.get(self.left), Integer):
            self.check({self.left: int(number)})
            return None
        return super().moved(values)

    def __str__(self) -> str:
        return f"{self.left} is not {self.right}"

    def violation(self, *values: object) -> str:
        """Return the error message, given the value of both sizes."""
        both = f"{self.left} = {self.right}" + (f" = {values[0]}" if isinstance(self.right, Symbol) else "")
        return f"the formula does not hold for {both}: {self.because}"

    def check(self, numbers: Mapping[Symbol, int]) -> None:
        """Raise SizeError if both have the same value."""
        if self.left in numbers and numbers[self.left] == substitute(self.right, numbers):
            raise SizeError(self.violation(numbers[self.left]))


@dataclass(frozen=True)
class Equals(Condition):
    """The condition that a size equals a number or an expression over other sizes."""

    size: Symbol
    value: Expr
    because: str
    named: ClassVar[bool] = True

    def moved(self, values: Mapping[Symbol, Expr]) -> Condition | None:
        """Return the condition with sizes replaced, or None if it then always holds. Raises SizeError, TypeError."""
        size, value = values.get(self.size, self.size), self.value.xreplace(dict(values))
        if isinstance(size, Symbol):
            return Equals(size, value, self.because)
        if not (isinstance(size, Integer) and value.is_number):
            raise TypeError(f"{self} needs a size")
        Equals(self.size, value, self.because).check({self.size: int(size)})
        return None

    def __str__(self) -> str:
        return f"{self.size} is {text(self.value)}"

    def violation(self, *values: object) -> str:
        """Return the error message, given the number of the size and its value."""
        number, value = values
        return f"{self.size}={number} is not {_spell(self.value, value)}; {self.because}"

    def check(self, numbers: Mapping[Symbol, int]) -> None:
        """Raise SizeError if both have values that differ."""
        value = self.value.xreplace({name: Integer(number) for name, number in numbers.items()})
        if self.size in numbers and value.is_number and value != numbers[self.size]:
            raise SizeError(self.violation(numbers[self.size], value))


def _spell(size: Expr, number: object) -> str:
    """Return a size with its value and, for a symbol, its meaning."""
    meaning = f" ({_meaning(size)})" if isinstance(size, Symbol) else ""
    return text(size) if size.is_number else f"{text(size)}={number}{meaning}"


def _meaning(size: Expr) -> str:
    return letter(size).meaning if isinstance(size, Symbol) else text(size)


def substitute(expr: Expr, values: Mapping[Symbol, int | Expr]) -> Expr:
    """Return an expression with some symbols replaced, or complex infinity if it then divides by zero."""
    try:
        given = {name: values[name] for name in expr.free_symbols if name in values}
        return expr.xreplace({name: Integer(each) if isinstance(each, int) else each for name, each in given.items()})
    except (ValueError, TypeError):  # raised by max and min for infinite arguments
        return S.ComplexInfinity


def assignment(argument: str, own: Collection[Symbol] = ()) -> tuple[Symbol, Expr]:
    """Parse NAME=VALUE, the argument of ``--set``.

    >>> assignment("H=4*E")
    (H, 4*E)
    """
    name, equals, value = argument.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise SizeError(f"{format_value(argument)} is not of the form NAME=VALUE, such as E=768")
    target = symbol(name.strip(), own)
    return target, check_relation(target, value.strip(), own)


def assignments(arguments: Iterable[str], own: Collection[Symbol] = ()) -> Relations:
    """Parse several NAME=VALUE arguments over letters and the sizes of a model. Raises SizeError for a duplicate name.

    >>> assignments(["E=768", "H=4*E"])
    {E: 768, H: 4*E}
    """
    found: Relations = {}
    for argument in arguments:
        target, value = assignment(argument, own)
        if target in found:
            raise SizeError(f"{target} is given twice, as {text(found[target])} and as {text(value)}; keep one")
        found[target] = value
    return found


def whole(name: object, value: object) -> int:
    """Return a size given as a Python or JSON value. Raises SizeError, with ``name`` in the message."""
    number, most = _integer(value), MAX_RATE if str(name) in RATES else MAX_INTEGER
    if number is not None and isinstance(value, Integral) and 1 <= number <= most:
        return number
    spelt = str(value) if isinstance(value, Decimal) else format_value(value)
    if number is None:
        raise SizeError(f"{name} is {spelt}, which is not an integer")
    if 1 <= number <= most:
        raise SizeError(f"{name} is {spelt}, which is not written as an integer; write {number}")
    raise SizeError(f"{name} is {format_value(number)}; a size is an integer from 1 to {most:,}")


def _integer(value: object) -> int | None:
    """Return the integer that a number of any type equals, or None if it is not a number or not an integer."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return None
    try:
        number = int(value)  # type: ignore[arg-type]  # Real declares no __int__, but every number has one
        return number if number == value else None
    except (ValueError, OverflowError):  # nan and infinity
        return None


def check_relation(target: Symbol, value: object, own: Collection[Symbol] = ()) -> Expr:
    """Return a size given as an integer, as text, or as an expression over other sizes. Raises SizeError.

    The text may name letters of the alphabet and ``own``, the sizes of a model.

    >>> from symformer.language.symbols import E, H
    >>> check_relation(H, "4*E"), check_relation(H, 4 * E), check_relation(H, 3072)
    (4*E, 4*E, 3072)
    """
    if isinstance(value, str):
        try:
            return size(value, own)
        except (ArithmeticTextError, UnknownNameError) as error:
            raise SizeError(f"{target}={value.strip()[:60]}: {error}") from None
    if not isinstance(value, Expr) or isinstance(value, Integer):
        return Integer(whole(target, value))
    for each in value.free_symbols:
        if not is_size(each):
            raise SizeError(
                f"{target}={format_value(value)}: {each} is not a size of symformer.language.symbols; use one"
            )
    _bound(target, value, {})
    return _sound(target, value, value)


def evaluate_relation(target: Symbol, relation: Expr, numbers: Mapping[Symbol, int], can_be_zero: bool = False) -> int:
    """Return the size that a relation determines, after checking that it can be a size. Raises SizeError.

    The number of layers of one kind can be zero: all layers are then of the other kinds.
    """
    value = substitute(relation, numbers)
    return 0 if can_be_zero and value == 0 else int(_sound(target, relation, value, numbers))


def _bound(target: Symbol, value: Expr, known: Mapping[Symbol, ExpansionBound]) -> ExpansionBound:
    try:
        bound = ExpansionBound.of(value, known)
    except ValueError:
        raise SizeError(f"{target}={format_value(value)} is not arithmetic over integer sizes") from None
    excess = bound.excess
    if not excess and bound.terms > MAX_TERMS:
        excess = f"{bound.terms} terms, more than the limit of {MAX_TERMS} for a size"
    if excess:
        raise SizeError(f"{target}={format_value(value)}: it can have {excess} when expanded")
    return bound


def _sound(target: Symbol, relation: Expr, value: Expr, numbers: Mapping[Symbol, int] | None = None) -> Expr:
    if wrong := fault(value):
        which = ""
        if numbers and isinstance(value, Rational):
            where = ", ".join(f"{name}={numbers[name]}" for name in sorted(relation.free_symbols, key=str))
            which = f", which is {format_value(value)} for {where} and"
        raise SizeError(f"{target} = {format_value(relation)}{which} {wrong}")
    return value


def format_value(value: object) -> str:
    """Return a value for a message: on one line, shortened if it is long."""
    if isinstance(value, int) and digits(value) > 24:
        return f"a number of {digits(value)} digits"
    spelt = str(value) if isinstance(value, Expr) else " ".join(repr(value).split())
    return spelt if len(spelt) <= 80 else f"{spelt[:80]}…"


def evaluate(expr: Expr, numbers: Mapping[Symbol, int], what: str) -> int:
    """Return the exact integer value of an expression. Raises SizeError with the symbols that have no value."""
    result = substitute(expr, numbers)
    if missing := sorted(result.free_symbols, key=str):
        raise SizeError(f"{what} needs values for {', '.join(map(str, missing))}")
    if not isinstance(result, Rational):
        raise SizeError(f"{what} divides by zero at these sizes")
    if not isinstance(result, Integer):
        raise SizeError(f"{what} is {result}, which is not an integer: {text(expr)} needs sizes that divide evenly")
    return int(result)


def close_relations(relations: Mapping[Symbol, Expr], can_be_zero: Container[Symbol] = ()) -> Relations:
    """Return relations with the other relations substituted into them, so that one substitution is sufficient.

    Only the sizes in ``can_be_zero`` can be zero: the numbers of layers of one kind. Raises SizeError if a relation
    depends on itself, can never be a size, or is too large to expand.
    """
    closed: Relations = {}
    bounds: dict[Symbol, ExpansionBound] = {}
    under_way: set[Symbol] = set()

    def settle(target: Symbol) -> None:
        value = relations[target]
        if target in under_way:
            raise SizeError(f"{target}={format_value(value)} depends on itself")
        under_way.add(target)
        others = [name for name in value.free_symbols if name in relations]
        for name in others:
            if name not in closed:
                settle(name)
        bounds[target] = _bound(target, value, bounds)
        found = substitute(value, {name: closed[name] for name in others})
        closed[target] = found if target in can_be_zero and found == 0 else _sound(target, value, found)
        under_way.remove(target)

    for target in relations:
        if target not in closed:
            settle(target)
    return {target: closed[target] for target in relations}


def quotients_at_least_one(exprs: Iterable[Expr]) -> tuple[AtMost, ...]:
    """Return the conditions that each quotient of two sizes inside a floor is at least 1."""
    parts = {fraction(each.args[0]) for expr in exprs for each in expr.atoms(floor)}
    found = [AtMost(below, above) for above, below in parts if above.is_Symbol and below.is_Symbol]
    return tuple(sorted(found, key=str))


def without_implied(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return the distinct conditions without those that follow from another: A divides E implies A divides E·G."""
    kept: list[Condition] = []
    for each in dict.fromkeys(conditions):
        if isinstance(each, Divides):
            known = [other for other in kept if isinstance(other, Divides)]
            if any(each.follows(other) for other in known):
                continue
            kept = [other for other in kept if not (isinstance(other, Divides) and other.follows(each))]
        kept.append(each)
    return tuple(kept)
