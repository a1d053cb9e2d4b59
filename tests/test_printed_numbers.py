"""Printed numbers are parsed exactly, with their rounding; anything else is refused with one sentence."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from symformer.language.errors import ArithmeticTextError
from symformer.language.printed_number import printed

SEED = 14
# As printed: the value, one unit in the last digit, the unit. By hand: 1 GiB is 2**30 bytes = 1,073,741,824.
READ = {
    "124M": (124_000_000, 1_000_000, ""),
    "6.9B": (6_900_000_000, 100_000_000, ""),
    "≈ 6.9B": (6_900_000_000, 100_000_000, ""),
    "about 7b": (7_000_000_000, 1_000_000_000, ""),
    "163,037,184": (163_037_184, 1, ""),
    "163 037 184": (163_037_184, 1, ""),
    "163_037_184": (163_037_184, 1, ""),
    "163037184 parameters": (163_037_184, 1, "elements"),
    "4.45e9 MACs": (4_450_000_000, 10_000_000, "MACs"),
    "4.45×10^9": (4_450_000_000, 10_000_000, ""),
    "4.45 * 10**9 FLOPs": (4_450_000_000, 10_000_000, "FLOPs"),
    "118.6 GMACs": (118_600_000_000, 100_000_000, "MACs"),
    "118.6 G MACs": (118_600_000_000, 100_000_000, "MACs"),
    "17.6 GFLOPS": (17_600_000_000, 100_000_000, "FLOPs"),
    "0.35M": (350_000, 10_000, ""),
    "1.5 trillion": (1_500_000_000_000, 100_000_000_000, ""),
    "13.5 GB": (13_500_000_000, 100_000_000, "bytes"),
    "2 GiB": (2_147_483_648, 1_073_741_824, "bytes"),
    "512 MiB": (536_870_912, 1_048_576, "bytes"),
    "160 kB": (160_000, 1_000, "bytes"),
    "93.3%": (Fraction(933, 10), Fraction(1, 10), "%"),
}


@pytest.mark.parametrize("text", READ)
def test_printed_numbers_are_parsed_exactly(text: str) -> None:
    found = printed(text)
    assert (found.value, found.step, found.unit) == READ[text]


# A number, a value that it can represent, and how. 124.5M and above round to 125M; 1.5576B rounds to 1.6B.
STANDS = [
    ("124M", 123_500_000, "rounded"),
    ("124M", 123_499_999, ""),
    ("124M", 124_499_999, "rounded"),
    ("124M", 124_500_000, "cut off"),
    ("124M", 125_000_000, ""),
    ("1.5B", 1_557_611_200, "cut off"),
    ("163,037,184", 163_037_184, "exact"),
    ("163,037,184", 163_037_185, ""),
    ("124,000,000", 124_439_808, "rounded"),  # three digits and zeros: a rounded number can be printed this way
    ("110M", 109_482_240, "rounded"),  # to two digits
    ("50M", 48_371_712, ""),  # not to one
    ("1B", 1_235_814_400, "rounded"),
    ("1B", 1_711_376_384, ""),  # a single digit may be rounded, but not truncated
]


@pytest.mark.parametrize(("text", "value", "how"), STANDS)
def test_a_printed_number_matches_the_values_that_round_to_it(text: str, value: int, how: str) -> None:
    assert printed(text).fits(value) == how


def test_active_parameters_are_recognized() -> None:
    assert printed("37B active").active
    assert not printed("37B").active


def test_gibibytes_printed_as_gigabytes() -> None:
    """12.6 GB read as GiB: 12.6 · 2**30."""
    found = printed("12.6 GB").binary
    assert found is not None
    assert found.value == Fraction(126, 10) * 2**30
    assert printed("12.6 GiB").binary is None
    assert printed("12.6B").binary is None


def test_integers_survive_a_round_trip() -> None:
    """Printed with and without separators of any kind."""
    random = Random(SEED)  # noqa: S311
    for _ in range(300):
        value = random.randrange(1, 10 ** random.randrange(1, 16))
        for text in (str(value), f"{value:,}", f"{value:_}", f"{value:,}".replace(",", "\u202f")):
            assert printed(text).value == value, (SEED, text)


REFUSED = {
    "": "is empty",
    "   ": "is empty",
    "abc": "does not begin with a number",
    "-5": "does not begin with a number",
    "NaN": "does not begin with a number",
    "0": "is less than 1",
    "0.0M": "is less than 1",
    "1e-5": "is less than 1",
    "12 apples": "'apples'",
    "12 M M": "'M' in '12 M M'",
    "1,23": "',23'",
    "1..2": "'..2'",
    "124M5": "'M5'",
    "124M; rm": "'rm'",
    "1e999": "40 powers of ten",
    "9" * 50: "40 digits",
    "9" * 1_000_000: "1,000,000 characters",
    "10**10**10": "'**10**10'",
    "__import__('os')": "does not begin with a number",
    "%_&#${}\\^~<>|`\"'": "does not begin with a number",
    "一億": "does not begin with a number",
    "٣٤": "does not begin with a number",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_invalid_numbers_are_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(ArithmeticTextError) as error:
        printed(text)
    assert REFUSED[text] in str(error.value)
    assert len(str(error.value)) < 400
    assert "\n" not in str(error.value)
