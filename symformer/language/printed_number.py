"""Parser for printed numbers, such as 124M, 163,037,184, ≈ 6.9B, 4.45e9 MACs or 13.5 GB, with their precision."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction

from .errors import ArithmeticTextError, quoted
from .number_words import PERCENT, NumberWords, number_words

MAX_TEXT, MAX_DIGITS, MAX_POWER = 120, 40, 40  # maximum characters, digits and powers of ten
ROUND = 3  # an integer with at least this many trailing zeros may be rounded
_ABOUT = re.compile(r"[≈~∼≃]|\b(?:about|approx\.?|approximately|ca\.?|circa)(?=\s)", re.IGNORECASE)
_LEADING = re.compile(
    r"(?:[≈~∼≃]\s*|(?:[^\W\d]|\d+-?bits?\b)\S*[\s:=]+)+", re.ASCII
)  # signs, and words before the digits
_RAISED = re.compile(r"10([⁰¹²³⁴-⁹]+)")
_DIGITS_OF = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SUFFIX = re.compile(r"\s*[^\s/]+")
_SPACE = " \u00a0\u2009\u202f"
_GROUPED = r"\d{1,3}(?P<mark>[,_' \u00a0\u2009\u202f])\d{3}(?:(?P=mark)\d{3})*"
_DIGITS = re.compile(
    rf"(?P<digits>(?:{_GROUPED}|\d+)(?:\.\d+)?|\.\d+)"
    r"(?:\s*(?:[eE]|[x×·*]\s*10\s*(?:\^|\*\*)\s*\{?)(?P<power>[+-]?\d{1,4})\}?)?",
    re.ASCII,
)


@dataclass(frozen=True)
class PrintedNumber:
    """A printed number and the range of values it can stand for."""

    text: str
    value: Fraction
    step: Fraction  # the value of one unit in its last digit
    unit: str = ""  # "elements", "MACs", "FLOPs", "bytes", "%"; empty if none is printed
    whole: bool = False  # True if every digit is printed: an integer without a suffix
    scale: Fraction = Fraction(1)  # the value of its suffix
    letter: str = ""  # the prefix, such as G, of bytes printed in GB and read as GiB
    figure: str = ""  # the digits with their suffix or unit, without other words
    words: NumberWords = field(default_factory=NumberWords)  # the words around it
    zeros: Fraction | None = None  # the value of one unit in its last nonzero digit, if it may be rounded to that

    @property
    def active(self) -> bool:
        """True if it counts active parameters."""
        return self.words.active

    @property
    def digits(self) -> int:
        """The number of significant digits."""
        return len(str(int(self.value / (self.zeros or self.step if self.whole else self.step))))

    def fits(self, value: Fraction | int, coarsely: bool = True) -> str:
        """Return how it matches a value: ``exact``, ``rounded``, ``cut off`` (truncated), or "" for no match.

        With ``coarsely``, a number with trailing zeros may also be rounded to the digits before them.

        >>> printed("124M").fits(124_439_808), printed("1.5B").fits(1_557_611_200), printed("117M").fits(124_439_808)
        ('rounded', 'cut off', '')
        """
        if value == self.value:
            return "exact"
        steps = [self.step] * (not self.whole) + [self.zeros] * (self.zeros is not None and (coarsely or self.whole))
        for step in filter(None, steps):
            if -step / 2 <= value - self.value < step / 2:
                return "rounded"
        within = any(self.value <= value < self.value + step for step in filter(None, steps))
        return "cut off" if within and self.digits > 1 else ""

    def digits_of(self, value: Fraction | int) -> str:
        """Return the number of digits to which it matches a value, in words; rounding takes precedence over truncation.

        >>> printed("130M").digits_of(130_512_416), printed("130M").digits_of(130_412_416)
        ('2 digits', '3 digits')
        """
        steps = [step for step in (self.step, self.zeros) if step and not (self.whole and step == self.step)]
        rounded = [step for step in steps if -step / 2 <= value - self.value < step / 2]
        cut = [step for step in steps if 0 <= value - self.value < step]
        count = len(str(int(self.value / step))) if (step := next(iter((*rounded, *cut)), None)) else self.digits
        return f"{count} digits" if count != 1 else "1 digit"

    @property
    def binary(self) -> PrintedNumber | None:
        """The same digits in GiB if it is printed in GB, or None if it is not in bytes with a decimal prefix."""
        power = len(str(self.scale)) - 1
        if self.unit != "bytes" or not power or self.scale != 10**power or power % 3:
            return None
        ratio = Fraction(1024 ** (power // 3), 10**power)
        value, step, scale = (each * ratio for each in (self.value, self.step, self.scale))
        return replace(self, value=value, step=step, scale=scale, zeros=None, letter="KMGTPE"[power // 3 - 1])

    @property
    def width(self) -> Fraction:
        """The number of integers that round to it."""
        return max(Fraction(1), self.zeros or Fraction(1) if self.whole else self.step)


def printed(text: str) -> PrintedNumber:
    """Parse a printed number. Raises ArithmeticTextError if it is not a number or has an unknown unit.

    >>> printed("163,037,184").value, printed("4.45e9 MACs").unit, printed("1.1 GiB").step == Fraction(2**30, 10)
    (Fraction(163037184, 1), 'MACs', True)
    """
    shown = text.strip(_SPACE + "\t\n")
    if not shown:
        raise ArithmeticTextError("the number is empty; write it as printed, such as 124M or 163,037,184")
    if len(shown) > MAX_TEXT:
        raise ArithmeticTextError(f"{quoted(shown)} has {len(shown):,} characters, too many for a printed number")
    before, rest = _leading_words(_RAISED.sub(lambda found: f"10^{found[1].translate(_DIGITS_OF)}", shown))
    found = _DIGITS.match(rest)
    if not found:
        raise ArithmeticTextError(
            f"{quoted(shown)} does not begin with a number; write it as published: 124M, 163,037,184 or 17.6 GMACs"
        )
    digits = re.sub(r"[^\d.]", "", found["digits"])
    power = int(found["power"] or 0)
    if len(digits) > MAX_DIGITS or abs(power) > MAX_POWER:
        raise ArithmeticTextError(
            f"{quoted(shown)} exceeds the limit of {MAX_DIGITS} digits or of {MAX_POWER} powers of ten"
        )
    words = number_words(shown, before, rest[found.end() :])
    scale, suffixed, unit = words.scale, words.suffixed, words.unit
    places = len(digits.partition(".")[2])
    factor = scale * Fraction(10) ** power
    value, step = Fraction(digits) * factor, factor / 10**places
    whole = not places and not found["power"] and not suffixed
    if value <= 0 or (value < 1 and unit != PERCENT):
        raise ArithmeticTextError(f"{quoted(shown)} is less than 1; counts of a model are at least 1")
    zeros = 0 if places else len(digits) - len(digits.rstrip("0"))
    kept = len(digits) - zeros
    if not whole and kept == 1 and zeros > 1:
        zeros, kept = zeros - 1, 2  # 500 MB may be rounded to 10 MB; to 100 MB says too little
    enough = zeros >= ROUND if whole else zeros and kept > 1
    rounded = step * 10**zeros if enough else None
    after = rest[found.end() :]
    suffix = _SUFFIX.match(after)
    figure = found[0] + (suffix[0] if suffixed and suffix else f" {unit}" * (unit in ("bytes", "FLOPs", "MACs")))
    return PrintedNumber(shown, value, step, unit, whole, scale, zeros=rounded, figure=figure.strip(), words=words)


def _leading_words(shown: str) -> tuple[str, str]:
    """Split the words before the digits, such as ``≈``, ``KV cache:`` or ``Q4_K_M``, from the rest."""
    found = _LEADING.match(shown)
    words = found[0] if found else ""
    return _ABOUT.sub(" ", words), shown[len(words) :]
