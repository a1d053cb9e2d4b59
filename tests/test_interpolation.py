"""Interpolation: the shortest sum of products of sizes that agrees with every measurement, or none."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from sympy import Expr, Min, ceiling, floor, symbols

from symformer.witness.interpolation import Point, UnfitError, fit
from symformer.witness.trace_result import SizeTie

a, b, S, C = symbols("a b S C", positive=True, integer=True)
LETTERS = {"a": a, "b": b, "S": S, "C": C}
# One point, each size changed alone, and as many more points as the longest sum below needs.
FIRST = {"a": 30, "b": 14, "S": 128, "C": 40}
SAMPLE = [
    FIRST,
    *({**FIRST, name: 2 * size} for name, size in FIRST.items()),
    *({"a": 7 + 9 * n + n % 3 * 200, "b": 5 + n * n % 23, "S": 26 + 31 * n, "C": 8 + n * 7 % 25} for n in range(14)),
]


def found(measure: Callable[[Point], int | None], *moves: str) -> Expr:
    return fit("it", moves, list(SAMPLE), LETTERS, measure, lengths=["S"], blocks=["C"])


@pytest.mark.parametrize(
    ("measure", "moves", "expected"),
    [
        (lambda p: 7, "", 7),
        (lambda p: 3 * p["a"] ** 2 * p["b"] * p["S"], "abS", 3 * a**2 * b * S),
        (lambda p: 2 * p["a"] + 5 * p["b"] + 1, "ab", 2 * a + 5 * b + 1),
        (lambda p: p["a"] * p["b"] + p["S"] - 2, "abS", a * b + S - 2),
        (lambda p: min(p["S"], 2 * p["a"] + 1), "aS", Min(S, 2 * a + 1)),
        (lambda p: p["a"] * -(-p["S"] // p["C"]) * p["b"], "abSC", a * b * ceiling(S / C)),
        (lambda p: -(-p["S"] // p["C"]) * p["C"] + p["b"] - 1, "bSC", C * ceiling(S / C) + b - 1),
        (lambda p: -(-p["S"] // 64), "S", ceiling(S / 64)),
        (lambda p: p["S"] + p["S"] // 4, "S", S + floor(S / 4)),
        (lambda p: p["S"] // 128 * p["a"] or None, "aS", a * floor(S / 128)),  # the code rejects sizes below 128
    ],
)
def test_sums_of_products_are_found(measure: Callable[[Point], int | None], moves: str, expected: Expr) -> None:
    assert found(measure, *moves) == expected


@pytest.mark.parametrize(
    "measure",
    [
        lambda p: p["a"] ** 3 % 101,
        lambda p: p["a"] + (p == SAMPLE[-1]),  # one point that disagrees
        lambda p: -(-p["S"] // 37),  # blocks whose size no field states
    ],
)
def test_data_without_a_fit_are_refused(measure: Callable[[Point], int]) -> None:
    with pytest.raises(UnfitError, match="it is not a short sum of products of a, S"):
        found(measure, "a", "S")


@pytest.mark.parametrize(("a", "b", "size"), [(6, 4, 9), (6, 5, 0), (6, 0, 0), (0, 4, 0)])
def test_dependent_size_is_none_if_not_an_integer(a: int, b: int, size: int) -> None:
    assert SizeTie(Fraction(6), {"a": 1, "b": -1}).at({"a": a, "b": b}) == size
