"""Amounts as people write them, such as 7e9, 6.7B or 80GB, parsed as exact integers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from .errors import ArithmeticTextError, quoted
from .sizes import format_value

_WRITTEN = re.compile(r"(\d+(?:[,_]\d{3})*)(?:\.(\d+))?(?:[eE]\+?(\d+))?\s*([A-Za-z]*)", re.ASCII)
_THOUSANDS = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12, "P": 10**15}
_BYTES = {"kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}
_BYTES |= {f"{each}iB": 1024**power for power, each in enumerate("KMGTP", 1)}
MAX_LENGTH, MAX_EXPONENT = 60, 40
_RATE = re.compile(_WRITTEN.pattern + r"(/s)?", re.ASCII)
_FLOPS = re.compile(r"([kKMGTPE]?)FLOP[sS]?")
_POWERS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_MEASURED = re.compile(r"(\d+(?:[,_]\d{3})*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?\s*([A-Za-zµ]*|%)")
_COUNTED = re.compile(r"([kKMGTPE]?)(FLOP|MAC)s?")
_WORDS: Mapping[str, tuple[str, int | Fraction]] = {
    **dict.fromkeys(("byte", "bytes"), ("bytes", 1)),
    **dict.fromkeys(("element", "elements", "parameter", "parameters"), ("elements", 1)),
    **dict.fromkeys(("token", "tokens"), ("tokens", 1)),
    **dict.fromkeys(("s", "second", "seconds"), ("seconds", 1)),
    "ms": ("seconds", Fraction(1, 10**3)),
    **dict.fromkeys(("us", "µs"), ("seconds", Fraction(1, 10**6))),
    "ns": ("seconds", Fraction(1, 10**9)),
}
_RATE_FORMS = "write bytes as in 3.35TB/s, or FLOPs as in 989TFLOP/s"


def is_amount(text: str) -> bool:
    """Return True if a text is a number with an optional suffix, without arithmetic."""
    return _WRITTEN.fullmatch(text.strip()) is not None


def amount(text: str, unit: str = "") -> int:
    """Parse an amount of a quantity in the given unit to an integer. Raises ArithmeticTextError.

    >>> amount("7e9"), amount("6.74B", "elements"), amount("80GB", "bytes"), amount("80GiB", "bytes")
    (7000000000, 6740000000, 80000000000, 85899345920)
    """
    found = _WRITTEN.fullmatch(text.strip()) if len(text) <= MAX_LENGTH else None
    if found is None:
        raise ArithmeticTextError(f"{quoted(text)} is not a valid amount; write 7000000000, 7e9 or 80GB")
    return _integer(text, found, _times(text, found[4], unit))


def rate(text: str, unit: str = "") -> int:
    """Parse bytes or FLOPs per second to an integer. Raises ArithmeticTextError.

    >>> rate("3.35TB/s"), rate("800GiB/s"), rate("989TFLOP/s"), rate("1.979 PFLOPS")
    (3350000000000, 858993459200, 989000000000000, 1979000000000000)
    """
    found = _RATE.fullmatch(text.strip()) if len(text) <= MAX_LENGTH else None
    if found is None:
        raise ArithmeticTextError(f"{quoted(text)} is not a bandwidth or a peak; {_RATE_FORMS}")
    suffix, per_second = found[4], found[5]
    flops = _FLOPS.fullmatch(suffix)
    if not suffix:
        raise ArithmeticTextError(f"{quoted(text)} has no unit; {_RATE_FORMS}")
    if suffix not in _BYTES and flops is None:
        raise ArithmeticTextError(f"{quoted(text)} has the unknown unit {quoted(suffix)}; {_RATE_FORMS}")
    if per_second is None and not suffix.endswith("FLOPS"):
        raise ArithmeticTextError(f"{quoted(text)} is not per second; {_RATE_FORMS}")
    if unit and (unit == "bytes/s") != (flops is None):
        raise ArithmeticTextError(f"{quoted(text)} is not in {unit}")
    value = _integer(text, found, _BYTES[suffix] if flops is None else _POWERS[flops[1]])
    if value == 0:
        raise ArithmeticTextError(f"{quoted(text)} is 0; a device needs a positive rate")
    return value


def measured(text: str, unit: str = "") -> tuple[Fraction, str]:
    """Parse a number that may have a percent sign, a prefix or a unit, and return its value and its unit.

    Parameters
    ----------
    text
        The number, such as ``"80GB"``, ``"2e10 FLOPs"``, ``"50%"`` or ``"0.9"``.
    unit
        The unit of the quantity that it is compared with; "" if that has none.

    Raises
    ------
    ArithmeticTextError
        If it is not a number, or if it is in another unit.

    Examples
    --------
    >>> measured("80GB"), measured("2e10 FLOPs")[1], measured("50%")[0], measured("10 ms")
    ((Fraction(80000000000, 1), 'bytes'), 'FLOPs', Fraction(1, 2), (Fraction(1, 100), 'seconds'))

    """
    found = _MEASURED.fullmatch(text.strip()) if len(text) <= MAX_LENGTH else None
    if found is None:
        raise ArithmeticTextError(f"{quoted(text)} is not a number with a unit; write 7e9, 80GB, 50% or 2e10 FLOPs")
    suffix = found[4]
    value = _fraction(text, found, 1)
    if suffix == "%":
        return value / 100, ""
    own, times = _WORDS.get(suffix, ("", None))
    if (flops := _COUNTED.fullmatch(suffix)) is not None:
        own, times = f"{flops[2]}s", _POWERS[flops[1]]
    if suffix in _BYTES:
        own, times = "bytes", _BYTES[suffix]
    if times is None:
        return value * _times(text, suffix, unit), ""
    if unit and own != unit:
        raise ArithmeticTextError(f"{quoted(text)} is in {own}, but it is compared with {unit}")
    return value * times, own


def _integer(text: str, found: re.Match[str], times: int) -> int:
    """Return the number of a match times the value of its suffix. Raises ArithmeticTextError."""
    value = _fraction(text, found, times)
    if value.denominator != 1:
        raise ArithmeticTextError(f"{quoted(text)} is {format_value(str(value))[1:-1]}, which is not an integer")
    return int(value)


def _fraction(text: str, found: re.Match[str], times: int) -> Fraction:
    """Return the number of a match times the value of its suffix, as a fraction. Raises ArithmeticTextError."""
    whole, part, exponent = found[1], found[2], int(found[3] or 0)
    if abs(exponent) > MAX_EXPONENT:
        raise ArithmeticTextError(f"the exponent of {quoted(text)} is more than {MAX_EXPONENT}")
    digits = re.sub("[,_]", "", whole) + (part or "")
    return Fraction(int(digits), 10 ** len(part or "")) * Fraction(10) ** exponent * times


def _times(text: str, suffix: str, unit: str) -> int:
    if not suffix:
        return 1
    if suffix == "B" and unit == "bytes":
        raise ArithmeticTextError(f"{quoted(text)} can be bytes or billions of bytes; write it as 7e9, or as 7GB")
    if suffix in _THOUSANDS:
        return _THOUSANDS[suffix]
    if suffix in _BYTES:
        if unit not in ("", "bytes"):
            raise ArithmeticTextError(
                f"{quoted(text)} is in bytes, but this quantity is counted in {unit}; write a plain number, such as 7e9"
            )
        return _BYTES[suffix]
    raise ArithmeticTextError(
        f"{quoted(text)} ends in the unknown suffix {quoted(suffix)}; known: K, M, B and T, and for bytes kB, "
        "MB, GB, TB, KiB, MiB, GiB and TiB"
    )
