"""Plain-text emitters: code (``12*L*E**2``, as in JSON) and readable text (``12LE²``)."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from sympy import Expr, Symbol

from .display_tree import (
    Applied,
    Call,
    Indexed,
    Label,
    Listed,
    Number,
    Power,
    RealPower,
    Size,
    TensorName,
    Transposed,
    Tree,
    Word,
    tree,
)
from .emitter import PRODUCT, Emitter

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class CodeEmitter(Emitter):
    """Emitter of plain arithmetic over the alphabet, which :mod:`symformer.language.arithmetic` can parse."""

    fraction_binds = PRODUCT

    def number(self, number: int) -> str:
        return str(number)

    def size(self, symbol: Symbol) -> str:
        return str(symbol.name)

    def label(self, letter: str, name: str) -> str:
        return f"{letter}[{name}]" if name else letter

    def product(self, factors: list[str], trees: tuple[Tree, ...]) -> str:
        return "*".join(factors)

    def times(self, factors: list[str]) -> str:
        return "*".join(factors)

    def cross(self, factors: list[str]) -> str:
        return "*".join(factors)

    def power(self, base: str, exponent: int) -> str:
        return f"{base}**{exponent}"

    def real_power(self, base: str, exponent: str) -> str:
        return f"{base}^{exponent}"

    def exponent(self, spelt: str, shown: Tree) -> str:
        return spelt if isinstance(shown, Number | Size | TensorName | Word) else f"({spelt})"

    def fraction(self, numerator: str, denominator: str) -> str:
        return f"{numerator}/{denominator}"

    def call(self, function: str, arguments: list[str]) -> str:
        return f"{function}({', '.join(arguments)})"

    def name(self, letter: str, below: str) -> str:
        return f"{letter}_{below}" if below else letter

    def numbered(self, letter: str, index: str) -> str:
        return f"{letter}_{index.replace(' ', '')}"

    def word(self, word: str) -> str:
        return word

    def transposed(self, operand: str) -> str:
        return f"{operand}ᵀ"

    def root(self, operand: str) -> str:
        return f"√({operand})"

    def applied(self, function: str, below: str, arguments: list[str]) -> str:
        return f"{function}_{below}({', '.join(arguments)})" if below else self.call(function, arguments)

    def total(self, over: str, operand: str) -> str:
        return f"∑_{over} {operand}"

    def listed(self, items: list[str], rows: bool = False) -> str:
        return f"[{('; ' if rows else ', ').join(items)}]"

    def indexed(self, table: str, index: str) -> str:
        return f"{table}[{index}]"

    def pointwise(self, factors: list[str]) -> str:
        return " ⊙ ".join(factors)


class TextEmitter(CodeEmitter):
    """Emitter of Unicode for terminals: ``12LE² + 13LE``, with dots next to subscripts and calls."""

    def number(self, number: int) -> str:
        return f"{number:,}"

    def product(self, factors: list[str], trees: tuple[Tree, ...]) -> str:
        bases = [factor.base if isinstance(factor, Power) else factor for factor in trees]
        letters = [base.symbol.name for base in bases if isinstance(base, Size)]
        letters += [base.letter for base in bases if isinstance(base, Label)]
        if any(isinstance(base, RealPower | TensorName | Transposed | Applied | Indexed | Listed) for base in bases):
            return " ".join(factors)
        apart = any(len(name) > 1 for name in letters) or any(isinstance(base, Call) for base in bases)
        return ("·" if apart else "").join(factors)

    def times(self, factors: list[str]) -> str:
        return " · ".join(factors)

    def cross(self, factors: list[str]) -> str:
        return " × ".join(factors)

    def power(self, base: str, exponent: int) -> str:
        return base + str(exponent).translate(_SUPERSCRIPTS)


_CODE, _TEXT = CodeEmitter(), TextEmitter()


def code(shown: Tree | Expr) -> str:
    """Return plain arithmetic, in house order for an expression.

    >>> from symformer.language.symbols import E, L
    >>> code(13*L*E + 12*L*E**2)
    '12*L*E**2 + 13*L*E'
    """
    return _CODE.emit(shown) if isinstance(shown, Tree) else _coded(shown)


@lru_cache(maxsize=1 << 16)
def _coded(expr: Expr) -> str:
    """Return the code of an expression, cached because fingerprints contain the same few factors many times."""
    return _CODE.emit(tree(expr))


def text(shown: Tree | Expr) -> str:
    """Return readable text, in house order for an expression.

    >>> from symformer.language.symbols import E, L, L_enc
    >>> text(13*L*E + 12*L*E**2), text(2*L_enc*E)
    ('12LE² + 13LE', '2·L_enc·E')
    """
    return _TEXT.emit(shown if isinstance(shown, Tree) else tree(shown))


def percent(share: Fraction) -> str:
    """Return a share in percent, rounded exactly to one decimal; a smaller nonzero share is not shown as 0.

    >>> from fractions import Fraction
    >>> percent(Fraction(1, 3)), percent(Fraction(1, 10_000)), percent(Fraction(0))
    ('33.3%', '< 0.1%', '0%')
    """
    if share == 0:
        return "0%"
    if 0 < share * 2000 < 1:
        return "< 0.1%"
    return f"{float(round(share * 100, 1)):.1f}%"


def number(value: int | Fraction) -> str:
    """Return a value as readable text: an integer with digit grouping, or a fraction and its two-decimal value.

    A fraction with a long denominator is printed as a decimal only.

    >>> from fractions import Fraction
    >>> number(124439808), number(Fraction(1000, 3)), number(Fraction(486_093, 26_321_936))
    ('124,439,808', '1,000/3 ≈ 333.33', '≈ 0.01847')
    """
    if value.denominator == 1:
        return exact_text(value)
    two = f"≈ {float(round(Fraction(value), 2)):,.2f}"
    if is_short(value):
        return f"{exact_text(value)} {two}"
    if abs(Fraction(value)) >= 1:
        return two
    places = 3  # for four significant digits; templates/live-exact.js prints the same
    while abs(value) * 10**places < 1_000 and places < MAX_PLACES:
        places += 1
    return f"≈ {Decimal(round(Fraction(value) * 10**places)).scaleb(-places):f}"


LONG_DENOMINATOR = 1_000
MAX_PLACES = 24  # decimals of a small fraction


def is_short(value: int | Fraction) -> bool:
    """Return whether the exact value is short enough to be printed: its denominator has at most three digits."""
    return value.denominator < LONG_DENOMINATOR


def exact_text(value: int | Fraction) -> str:
    """Return an exact value with digit grouping: ``1,000`` or ``1,000/3``."""
    return f"{value.numerator:,}" + (f"/{value.denominator:,}" if value.denominator != 1 else "")


def to_digits(value: Fraction, digits: int) -> Decimal:
    """Return a value rounded to some significant digits.

    >>> from fractions import Fraction
    >>> to_digits(Fraction(2, 3), 4)
    Decimal('0.6667')
    """
    return Context(prec=digits).divide(Decimal(value.numerator), Decimal(value.denominator))


def json_number(value: int | Fraction | None) -> int | str | None:
    """Return an exact value for JSON, in which a fraction is a string.

    >>> from fractions import Fraction
    >>> json_number(Fraction(6, 2)), json_number(Fraction(3, 2)), json_number(None)
    (3, '3/2', None)
    """
    if value is None:
        return None
    return value.numerator if value.denominator == 1 else str(value)


CELL_DIGITS = 6  # significant digits of a fraction in a table


def cell(value: int | Fraction, unit: str = "") -> str:
    """Return a value for a cell of a table: an integer with separators, and a fraction rounded to six digits.

    >>> from fractions import Fraction
    >>> cell(1024), cell(Fraction(1, 3), "FLOPs/byte"), cell(Fraction(1, 3), "of the FLOPs")
    ('1,024', '0.333333', '33.3333%')
    """
    share = unit.startswith("of the ")
    if value.denominator == 1 and not share:
        return f"{int(value):,}"
    shown = to_digits(Fraction(value) * (100 if share else 1), CELL_DIGITS)
    spelt = f"{shown:,f}" if abs(shown.adjusted()) < 15 else f"{shown}"
    return (
        spelt.rstrip("0").rstrip(".") if "." in spelt and "E" not in spelt and value.denominator == 1 else spelt
    ) + "%" * share


SECONDS = "seconds"
_PARTS = {0: "", 1: "m", 2: "µ", 3: "n"}  # the prefixes of a second, with their powers of 1000
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def amount(value: int | Fraction, unit: str) -> str:
    """Return a value with separators; bytes are also given in GB and GiB, and shares also in percent.

    >>> from fractions import Fraction
    >>> amount(2_147_483_648, "bytes"), amount(124_439_808, "elements"), amount(Fraction(5, 11), "of the peak")
    ('2,147,483,648 (2.15 GB, 2.00 GiB)', '124,439,808', '5/11 ≈ 45.5%')
    """
    exact, near = exact_text(value), rounded(value, unit)
    if near and not is_short(value):
        return near
    return f"{exact} ({near})" if near and not near.startswith("≈") else f"{exact} {near}".rstrip()


def rounded(value: int | Fraction, unit: str) -> str:
    """Return a value in a form that is easier to read than the exact number; empty for most integers.

    Times are lower bounds.
    """
    if unit == SECONDS and value > 0:
        return f"≥ {seconds(Fraction(value))}"
    if value.denominator != 1:  # the unit of a share of a whole starts with "of the"
        share = unit.startswith("of the ")
        return f"≈ {percent(Fraction(value))}" if share else f"≈ {float(round(Fraction(value), 2)):,.2f}"
    if unit != "bytes" or value < 1_000:
        return ""
    powers = range(1, len(_PREFIXES))
    thousands = max(power for power in powers if power == 1 or value >= 1_000**power)
    chunks = max(power for power in powers if power == 1 or value >= 1_024**power)
    decimal = f"{float(round(value / Fraction(1_000**thousands), 2)):,.2f} {_PREFIXES[thousands]}B"
    binary = f"{float(round(value / Fraction(1_024**chunks), 2)):,.2f} {_PREFIXES[chunks].upper()}iB"
    return f"{decimal}, {binary}"


def seconds(value: Fraction) -> str:
    """Return a time with four significant digits and a prefix.

    >>> seconds(Fraction(15_546_720_256, 3_350_000_000_000)), seconds(Fraction(7_200)), seconds(Fraction(1, 10**12))
    ('4.641 ms', '7,200 s', '0.001 ns')
    """
    power = next((power for power in _PARTS if value * 1000**power >= 1), max(_PARTS))
    return f"{digits(value * 1000**power)} {_PARTS[power]}s"


def digits(value: Fraction) -> str:
    """Return a positive number rounded to four significant digits, or to an integer if it is larger.

    >>> digits(Fraction(15_546_720_256, 3_350_000_000)), digits(Fraction(123_456)), digits(Fraction(1, 3))
    ('4.641', '123,456', '0.3333')
    """
    places = 0
    while value * 10**places < 1000 and places < 6:
        places += 1
    shown = f"{float(round(value, places)):,.{places}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
