"""The goal of a search: a total, a range of values or an upper limit, as numbers or as expressions over quantities."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Expr, Integer, Rational

from ..formulas.formula import Formula
from ..formulas.operators import operand
from ..language.amounts import amount
from ..language.errors import ArithmeticTextError, OptionError, UnknownNameError, quoted
from ..language.notation.text import cell, code, json_number
from .condition_search import SearchedValue
from .quantity_conditions import QuantityReader

NO_GOAL = "give a total, an upper limit or a condition, as in --total 7e9, --at-most 7e9 or --filter 'params <= 7e9'"
TWO_GOALS = "a total and an upper limit cannot be combined; remove --total or --at-most"


@dataclass(frozen=True)
class SearchGoal:
    """The target of a search: a range of values, or an upper limit under which the first size is maximized."""

    text: str
    aim: int
    low: int | None  # None for an upper limit alone
    high: int
    searched: SearchedValue | None = None  # the value, if it is not an integer, or if conditions or a target bound it
    formulas: tuple[Formula, ...] = ()  # the formulas in the target, whose conditions hold too

    @classmethod
    def of(
        cls,
        total: int | float | str | Fraction | None,
        at_most: int | float | str | Fraction | None,
        tolerance: int | str | None,
        unit: str,
        share: str | None = None,
        reserve: int | str | None = None,
    ) -> SearchGoal:
        """Return the target for a total or an upper limit. Raises OptionError, ArithmeticTextError."""
        if at_most is None and (share is not None or reserve is not None):
            raise OptionError("--share and --reserve need an upper limit, such as --at-most 80GiB")
        if total is None and at_most is None:
            raise OptionError(NO_GOAL)
        if total is not None and at_most is not None:
            raise OptionError(TWO_GOALS)
        if at_most is not None:
            if tolerance is not None:
                raise OptionError("--tolerance needs --total and cannot be combined with --at-most; remove one of them")
            high = usable(whole_amount(at_most, unit), share, reserve, unit)
            return cls(f"at most {high:,} {unit}".strip(), high, None, high)
        aim = whole_amount(total, unit)
        margin = Fraction(0) if tolerance is None else _margin(tolerance, aim, unit)
        low, high = -((margin - aim) // 1), (aim + margin) // 1
        said = f"{aim:,} {unit}".strip() + (f" within {str(tolerance).strip()}" if tolerance else "")
        return cls(said, aim, int(low), int(high))

    @classmethod
    def exact(
        cls,
        total: int | float | str | Fraction | None,
        at_most: int | float | str | Fraction | None,
        tolerance: int | str | None,
        share: str | None,
        reserve: int | str | None,
        formula: Formula,
        reader: QuantityReader,
    ) -> SearchGoal:
        """Return the target for a value that need not be an integer, or for a total that is an expression.

        Without a total and an upper limit, only conditions decide. Raises OptionError, ArithmeticTextError.
        """
        unit, value = formula.measure.unit, formula.exact_value
        if at_most is None and (share is not None or reserve is not None):
            raise OptionError("--share and --reserve need an upper limit, such as --at-most 80GiB")
        if total is not None and at_most is not None:
            raise OptionError(TWO_GOALS)
        if total is None and at_most is None:
            if tolerance is not None:
                raise OptionError("--tolerance needs --total; remove it")
            return cls("any value that the conditions allow", 0, None, 0, SearchedValue(value))
        given = total if at_most is None else at_most
        target, said, formulas = _target(given, unit, reader)  # type: ignore[arg-type]
        if at_most is not None:
            if tolerance is not None:
                raise OptionError("--tolerance needs --total and cannot be combined with --at-most; remove one of them")
            if share is not None:
                target *= _percentage(share)
                said = f"{share.strip()} of {said}"
            if reserve is not None:
                less, spelt, more = _target(reserve, unit, reader)
                target, said, formulas = target - less, f"{said} less {spelt}", (*formulas, *more)
            return cls(f"at most {said}", 0, None, 0, SearchedValue(value, target), formulas)
        margin: Expr = Integer(0)
        if tolerance is not None:
            within = str(tolerance)
            if isinstance(tolerance, bool) or not within.strip()[:1].isdigit():
                raise OptionError(
                    f"--tolerance {tolerance!r} is not valid; give a percentage, such as '1%', or an amount"
                )
            ratio = unit.startswith("of the ")
            relative = within.strip().endswith("%") and not ratio
            margin = _target(within, "" if relative else unit, reader)[0] * (target if relative else 1)
        said += f" within {str(tolerance).strip()}" if tolerance is not None else ""
        return cls(said, 0, 0, 0, SearchedValue(value, target, margin), formulas)

    @property
    def ends(self) -> list[int | Fraction]:
        """The least and the largest value that are accepted, or the only one; none if they are not numbers."""
        if self.searched is None:
            return [self.high] if self.low in (None, self.high) else [self.low, self.high]
        target, margin = self.searched.target, self.searched.margin
        if target is None or target.free_symbols or (margin is not None and margin.free_symbols):
            return []
        return [_fraction(each) for each in dict.fromkeys((target - (margin or 0), target + (margin or 0)))]

    def to_json(self) -> dict[str, Any]:
        """Return the least and the largest value that are accepted, as ``solve --json`` prints them."""
        if self.searched is None:
            return {"least": self.low, "most": self.high}
        target, margin = self.searched.target, self.searched.margin
        ends = [None if target is None or margin is None else target - margin]
        ends.append(target if target is None or margin is None else target + margin)
        return dict(zip(("least", "most"), map(_end_json, ends), strict=True))


def usable(limit: int, share: str | None, reserve: int | str | None, unit: str) -> int:
    """Return the part of a limit that can be used: a share of it, less a reserve.

    >>> usable(80, "90%", 2, "bytes")
    70

    Raises
    ------
    OptionError
        If the share is not a percentage from 0 to 100, or the reserve leaves nothing.

    """
    part = Fraction(1) if share is None else _fraction(_percentage(share))
    left = int(limit * part // 1) - (0 if reserve is None else whole_amount(reserve, unit))
    if left <= 0:
        raise OptionError(f"--reserve {reserve} leaves nothing of {limit:,} {unit}; choose less")
    return left


def _target(
    given: int | float | str | Fraction, unit: str, reader: QuantityReader
) -> tuple[Expr, str, tuple[Formula, ...]]:
    """Return a total, a limit or a tolerance as an expression, its text, and its formulas. Raises OptionError."""
    if not isinstance(given, str):
        number = operand(given)
        if number is None or not number > 0:
            raise OptionError(f"{given!r} is not a total; give a positive number")
        return number, f"{code(number)} {unit}".strip(), ()
    try:
        found = reader.expression(given, "" if unit.startswith("of the ") else unit)
    except UnknownNameError as error:
        if error.what != "symbol":
            raise
        raise ArithmeticTextError(
            f"{quoted(given.strip())} is not a valid amount; write 7e9, 80GB, 50% or an expression such as '20*params'"
        ) from None
    if found.formulas and unit and found.unit not in ("", unit):
        raise OptionError(f"{quoted(given.strip())} is in {found.unit}, but it is compared with {unit}")
    if not found.expr.free_symbols:
        if not 0 < found.expr <= 10**40:
            raise OptionError(f"{quoted(given.strip())} is out of range; give a number above 0 and at most 1e40")
        spelt = given.strip() if given.strip().endswith("%") else f"{cell(_fraction(found.expr))} {unit}".strip()
        return found.expr, spelt, ()
    return found.expr, given.strip(), found.formulas


def _fraction(number: Expr) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def _end_json(end: Expr | None) -> int | str | None:
    if end is None:
        return None
    return json_number(_fraction(end)) if end.is_Rational else code(end)


def _percentage(share: str) -> Rational:
    found = re.fullmatch(r"\s*(\d{1,3}(?:\.\d{1,12})?)\s*%\s*", share, re.ASCII)
    part = Rational(found[1]) / 100 if found else Rational(0)
    if not 0 < part <= 1:
        raise OptionError(f"--share {quoted(share)} is not valid; give a percentage above 0% and at most 100%")
    return part


def whole_amount(value: int | float | str | Fraction | None, unit: str) -> int:
    """Return an amount as a whole number. Raises OptionError."""
    if isinstance(value, str):
        found = amount(value, unit)
    elif isinstance(value, bool) or value is None or value % 1 != 0:
        raise OptionError(f"{value!r} is not a total; give a whole number, such as 7e9")
    else:
        found = int(value)
    if not 0 < found <= 10**40:
        raise OptionError(f"{quoted(str(value))} is out of range; give a whole number from 1 to 1e40")
    return found


def _margin(within: object, aim: int, unit: str) -> Fraction:
    if isinstance(within, int) and not isinstance(within, bool) and within > 0:
        return Fraction(within)
    if not isinstance(within, str) or not within.strip()[:1].isdigit():
        spelt = quoted(within) if isinstance(within, str) else repr(within)
        raise OptionError(f"--tolerance {spelt} is not valid; give a percentage, such as '1%', or an amount")
    found = re.fullmatch(r"\s*(\d{1,3}(?:\.\d{1,12})?)\s*%\s*", within, re.ASCII)
    if found:
        share = Fraction(found[1]) / 100
        if share < 1:
            return share * aim
        raise OptionError(f"--tolerance {within.strip()} would accept every value from 0; choose less than 100%")
    return Fraction(whole_amount(within, unit))
