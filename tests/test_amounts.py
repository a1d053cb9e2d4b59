"""Prefixes of amounts, as the International System of Units and IEC 80000-13 define them."""

from __future__ import annotations

import pytest

from symformer.language.amounts import amount, is_amount
from symformer.language.errors import ArithmeticTextError, OptionError
from symformer.views.plots.memory_plot import amount as amount_with_unit

PREFIXES = {"k": 3, "M": 6, "G": 9, "T": 12, "P": 15}  # powers of ten
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}  # powers of two
COUNTS = {"K": 3, "M": 6, "B": 9, "T": 12, "P": 15}  # thousands, millions, billions, trillions, 10^15


def test_bytes() -> None:
    for prefix, power in (PREFIXES | {"K": 3}).items():
        assert amount(f"3.5{prefix}B", "bytes") == 35 * 10 ** (power - 1)
    for prefix, power in BINARY.items():
        assert amount(f"3.5{prefix}B", "bytes") == 7 * 2 ** (power - 1)


def test_counts() -> None:
    for suffix, power in COUNTS.items():
        assert amount(f"6.7{suffix}", "elements") == 67 * 10 ** (power - 1)
    for text in ("7B", "7 B"):
        with pytest.raises(ArithmeticTextError, match="can be bytes or billions of bytes"):
            amount(text, "bytes")
    assert amount("7T", "bytes") == 7 * 10**12


@pytest.mark.parametrize("text", ["1e40", "1E+40", "1" + "0" * 40, "9" * 60])
def test_amounts_up_to_the_maximum_length_are_read(text: str) -> None:
    assert amount(text) == int(text.lower().split("e")[0]) * 10 ** (40 if "e" in text.lower() else 0)


@pytest.mark.parametrize("text", ["1e41", "9" * 61, "1e-3", "1.5", "1,00", "7GiBs", "3EB", "7g"])
def test_amounts_that_are_not_integers_are_refused(text: str) -> None:
    with pytest.raises(ArithmeticTextError):
        amount(text)


@pytest.mark.parametrize(
    ("text", "read"), [("7e9", True), (" 80 GB ", True), ("7*E", False), ("-7", False), ("", False)]
)
def test_looks_like_an_amount(text: str, read: bool) -> None:
    assert is_amount(text) is read


def test_devices() -> None:
    for prefix, power in (PREFIXES | {"K": 3, "E": 18, "": 0}).items():
        assert amount_with_unit(f"3.5{prefix}B/s", ("B/s",), "--bandwidth") == 35 * 10**power / 10
    for prefix, power in (BINARY | {"Ei": 60}).items():
        assert amount_with_unit(f"80{prefix}B", ("B",), "--device") == 80 * 2**power
    with pytest.raises(OptionError, match="is not valid"):
        amount_with_unit("80B", ("FLOPS",), "--peak")
