"""The order of solutions and the number of printed ones, computed by hand."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli


def order(target: str, total: str | None, sizes: list[str], **given: str) -> list[tuple[int, ...]]:
    found = sf.solve(target, total, unknowns=sizes, **given)  # type: ignore[arg-type]
    return [tuple(each.sizes.values()) for each in found.all]


def test_widths_that_are_multiples_precede_nearer_widths() -> None:
    """2EH + E + H within 99 % of 16,576, which excludes 33,024 for 128 and 128.

    Multiples of 64 come first: 128 and 64, or 64 and 128, are 16,576 and have one width that is not a multiple of 128,
    and the larger first size leads; 64 and 64 are 8,320 and have two. Then 96 and 128 with one, 24,800, before 96 and
    64 with two, although 12,448 is nearer.
    """
    found = order("component:mlp", "16576", ["E=64:128:32", "H=64:128:64"], within="99%")
    assert found == [(128, 64), (64, 128), (64, 64), (96, 128), (96, 64)]


def test_the_nearest_of_equally_good_widths_is_first() -> None:
    """Llama 2 7B has 202,383,360 parameters per layer.

    32 and 33 layers are 261,584,384 and 59,201,024 below 7e9, and 34 and 35 layers are 143,182,336 and 345,565,696
    above.
    """
    assert order("llama-2-7b", "7e9", ["L"], within="5%") == [(33,), (34,), (32,), (35,)]


def test_heads_that_divide_the_width_are_first() -> None:
    """Llama with one layer, E = 128 and D = 64: a query head is 2·128·64 = 16,384; 1, 2 and 4 divide 128."""
    sizes = {"V": 1, "E": 128, "H": 64, "L": 1, "G": 1, "D": 64}
    rest = 2 * 128 * 64 + 3 * 128 * 64 + 5 * 128  # keys and values, the MLP, three norms and two tables of one row
    found = sf.solve("llama", str(3 * 16_384 + rest), unknowns=["A=1:5:1"], tolerance="60%", sizes=sizes)
    assert [(each.sizes["A"], each.value, each.buildable) for each in found.all] == [
        (heads, heads * 16_384 + rest, heads in (1, 2, 4)) for heads in (4, 2, 1, 3, 5)
    ]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("16576", {64: 128, 128: 64}),  # E at most (16,576 - H)/(2H + 1): 16,512/129 and 16,448/257, both integers
        ("16575", {64: 127, 128: 63}),
        ("16704", {64: 128, 128: 64}),
        ("16705", {64: 129, 128: 64}),  # 16,576 + 129; 16,576 + 257 is larger
    ],
)
def test_a_limit_is_inclusive(limit: str, expected: dict[int, int]) -> None:
    found = sf.solve("component:mlp", at_most=limit, unknowns=["E=1:400:1", "H=64:128:64"])
    assert {each.sizes["H"]: each.sizes["E"] for each in found.all} == expected
    assert all(each.value == 2 * e * h + e + h for each in found.all for e, h in [(each.sizes["E"], each.sizes["H"])])


def test_only_some_solutions_are_printed_but_all_are_counted() -> None:
    """2EH + E + H ranges from 2·9·9 + 18 = 180 to 2·120·120 + 240 = 29,040 over all 112 · 112 sizes.

    99 % of 14,600 are 14,454, so the tolerance is from 146 to 29,054.
    """
    sizes = ["--find", "E=9:120:1", "--find", "H=9:120:1"]
    command = ["solve", "component:mlp", "--total", "14600", "--tolerance", "99%", *sizes]
    found = json.loads(CliRunner().invoke(cli, [*command, "--json"], prog_name="symformer").stdout)
    assert found["count"] == 112 * 112 == 12_544
    assert len(found["solutions"]) == 10_000
    shown = CliRunner().invoke(cli, command, prog_name="symformer").stdout.splitlines()
    rows = [line for line in shown if line.strip()[:1].isdigit() and "solutions" not in line]
    assert len(rows) == 20
    assert "and 12,524 more; JSON lists up to 10,000" in shown
