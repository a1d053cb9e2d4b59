"""Numbers for symbols: reading them from text, holding them to the conditions of a model, putting them in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr, Integer, Symbol

from .arithmetic import MAX_INTEGER, size
from .errors import ArithmeticTextError, SizeError, UnknownNameError
from .notation.text import text
from .symbols import letter, symbol

Numbers = dict[Symbol, int]
Relations = dict[Symbol, Expr]


@dataclass(frozen=True)
class Divides:
    """A condition under which a formula holds: ``dividend`` is a whole multiple of ``divisor``."""

    divisor: Expr
    dividend: Expr
    remedy: str = "choose sizes that divide"

    @property
    def symbols(self) -> set[Symbol]:
        """The sizes it is about."""
        found: set[Symbol] = self.divisor.free_symbols | self.dividend.free_symbols
        return found

    def __str__(self) -> str:
        return f"{text(self.divisor)} divides {text(self.dividend)}"

    def check(self, numbers: Mapping[Symbol, int]) -> None:
        """Raise SizeError when both sizes have a number and it does not divide."""
        divisor, dividend = self.divisor.xreplace(numbers), self.dividend.xreplace(numbers)
        if isinstance(divisor, int | Integer) and isinstance(dividend, int | Integer) and int(dividend) % int(divisor):
            by = text(self.divisor) if self.divisor.is_Integer else f"{text(self.divisor)}={int(divisor)}"
            names = _meaning(self.dividend) + ("" if self.divisor.is_Integer else f", {_meaning(self.divisor)}")
            raise SizeError(f"{text(self.dividend)}={int(dividend)} is not a multiple of {by} ({names}); {self.remedy}")


@dataclass(frozen=True)
class Excludes:
    """A condition under which a formula holds: these sizes are not all 1."""

    ones: tuple[Symbol, ...]
    because: str

    @property
    def symbols(self) -> set[Symbol]:
        """The sizes it is about."""
        return set(self.ones)

    def __str__(self) -> str:
        return f"{' and '.join(map(str, self.ones))} {'are not all' if len(self.ones) > 1 else 'is not'} 1"

    def check(self, numbers: Mapping[Symbol, int]) -> None:
        """Raise SizeError when every one of the sizes is 1."""
        if all(numbers.get(size) == 1 for size in self.ones):
            both = " and ".join(f"{size}=1" for size in self.ones)
            raise SizeError(f"the formula does not hold for {both}: {self.because}")


@dataclass(frozen=True)
class AtMost:
    """A condition under which a formula holds: ``low`` is no more than ``high``."""

    low: Expr
    high: Expr
    because: str = "choose a larger one"

    @property
    def symbols(self) -> set[Symbol]:
        """The sizes it is about."""
        found: set[Symbol] = self.low.free_symbols | self.high.free_symbols
        return found

    def __str__(self) -> str:
        return f"{text(self.low)} is at most {text(self.high)}"

    def check(self, numbers: Mapping[Symbol, int]) -> None:
        """Raise SizeError when both have a number and ``low`` is more."""
        given = {name: Integer(value) for name, value in numbers.items()}
        low, high = self.low.xreplace(given), self.high.xreplace(given)
        if low.is_number and high.is_number and low > high:
            raise SizeError(f"{_spell(self.high, high)} is less than {_spell(self.low, low)}; {self.because}")


@dataclass(frozen=True)
class Differs:
    """A condition under which a formula holds: two sizes are not the same."""

    left: Symbol
    right: Symbol
    because: str

    @property
    def symbols(self) -> set[Symbol]:
        """The sizes it is about."""
        return {self.left, self.right}

    def __str__(self) -> str:
        return f"{self.left} is not {self.right}"

    def check(self, numbers: Mapping[Symbol, int]) -> None:
        """Raise SizeError when both have a number, and the same."""
        if self.left in numbers and numbers[self.left] == numbers.get(self.right):
            both = f"{self.left} = {self.right} = {numbers[self.left]}"
            raise SizeError(f"the formula does not hold for {both}: {self.because}")


@dataclass(frozen=True)
class Equals:
    """A condition under which a formula holds: a size is this number, or follows others in this way."""

    size: Symbol
    value: Expr
    because: str

    @property
    def symbols(self) -> set[Symbol]:
        """The sizes it is about."""
        found: set[Symbol] = {self.size} | self.value.free_symbols
        return found

    def __str__(self) -> str:
        return f"{self.size} is {text(self.value)}"

    def check(self, numbers: Mapping[Symbol, int]) -> None:
        """Raise SizeError when both have a number, and another."""
        value = self.value.xreplace({name: Integer(number) for name, number in numbers.items()})
        if self.size in numbers and value.is_number and value != numbers[self.size]:
            raise SizeError(f"{self.size}={numbers[self.size]} is not {_spell(self.value, value)}; {self.because}")


Condition = Divides | Excludes | AtMost | Differs | Equals


def _spell(size: Expr, number: Expr) -> str:
    """A size with its number, and what it means if it is a symbol."""
    meaning = f" ({_meaning(size)})" if isinstance(size, Symbol) else ""
    return text(size) if size.is_number else f"{text(size)}={number}{meaning}"


def _meaning(size: Expr) -> str:
    return letter(size).meaning if isinstance(size, Symbol) else text(size)


def assignment(argument: str) -> tuple[Symbol, Expr]:
    """NAME=VALUE, as ``--set`` takes it.

    >>> assignment("H=4*E")
    (H, 4*E)
    """
    name, equals, value = argument.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise SizeError(f"{argument!r} is not of the form NAME=VALUE, such as E=768")
    target = symbol(name.strip())
    try:
        return target, size(value)
    except (ArithmeticTextError, UnknownNameError) as error:
        raise SizeError(f"{name.strip()}={value.strip()[:60]}: {error}") from None


def whole(name: str, value: object) -> int:
    """A size given as a Python or JSON value; the sentence of the error names it."""
    if isinstance(value, bool) or not isinstance(value, int | Integer):
        raise SizeError(f"{name} is {value!r}, which is not a whole number")
    if not 1 <= value <= MAX_INTEGER:
        shown = str(value) if len(str(value)) < 25 else f"a number of {len(str(value))} digits"
        raise SizeError(f"{name} is {shown}; a size is a whole number from 1 to {MAX_INTEGER:,}")
    return int(value)


def evaluate(expr: Expr, numbers: Mapping[Symbol, int], what: str) -> int:
    """The exact integer of an expression. Raises SizeError naming the symbols that have no number."""
    result = expr.xreplace({name: Integer(number) for name, number in numbers.items()})
    if missing := sorted(result.free_symbols, key=str):
        raise SizeError(f"{what} needs a number for {', '.join(map(str, missing))}")
    if not isinstance(result, Integer):
        raise SizeError(f"{what} is {result}, which is not whole: the sizes do not divide as {text(expr)} asks")
    return int(result)


def close(relations: Mapping[Symbol, Expr]) -> Relations:
    """Relations with every symbol that another relation fixes put in, so that one substitution is enough.

    Raises SizeError where a relation comes back to itself.
    """
    closed = {target: Integer(value) if isinstance(value, int) else value for target, value in relations.items()}
    for _ in range(len(closed) + 1):
        replaced = {target: value.xreplace(closed) for target, value in closed.items()}
        if replaced == closed:
            break
        closed = replaced
    for target, value in closed.items():
        if value.free_symbols & closed.keys():
            raise SizeError(f"{target}={text(relations[target])} depends on itself")
    return closed
