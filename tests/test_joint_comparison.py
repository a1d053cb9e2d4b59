"""Joint tables of three models, values at which totals are equal, and branches of min and max, by hand."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from math import isqrt

import pytest
import sympy
from click.testing import CliRunner, Result

import symformer as sf
from symformer.algebra.crossover import EqualPoint, equal_points, spans
from symformer.algebra.sensitivity import Change, sensitivity
from symformer.commands.cli import cli
from symformer.formulas.branches import branches
from symformer.language.symbols import C, C_win, E, L, S

CACHES = ("compare", "llama-2-7b", "llama-2-70b", "deepseek-v2", "-q", "kv-cache", "--per", "B*C")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), prog_name="symformer")


def cache(layers: int, groups: int) -> int:
    """Return the bytes per token: keys and values of 128 bf16 numbers per group."""
    return 2 * 2 * layers * groups * 128


def test_ratios_of_three_caches() -> None:
    """Llama 2 has 32 layers with 32 groups and 80 with 8; DeepSeek-V2 60 layers with 2·(512 + 64) bytes."""
    totals = [cache(32, 32), cache(80, 8), 2 * 60 * (512 + 64)]
    told = json.loads(run(*CACHES, "--json").stdout)
    assert told["ratios"] == [
        [str(Fraction(a, b)) if Fraction(a, b).denominator > 1 else a // b for b in totals] for a in totals
    ]
    said = run(*CACHES).stdout
    assert "All models\nThe totals, and each divided by the others.\n" in said
    assert ["llama-2-7b", "(1)", "524,288", "1", "1.6", "7.585"] in [line.split() for line in said.splitlines()]


@pytest.mark.parametrize(("size", "place"), [("L_1", 0), ("L_2", 1), ("L_3", 2), ("R_kv", 2)])
def test_rankings_are_those_of_every_integer(size: str, place: int) -> None:
    found = json.loads(run(*CACHES, "--json").stdout)["rankings"].get(size)
    if found is None:  # L_3 stands for L_dense and L_moe
        assert size == "L_3"
        return
    for number in [*range(1, 700), 10**6]:
        totals = [cache(32, 32), cache(80, 8), 2 * 60 * (512 + 64)]
        totals[place] = {"L_1": cache(number, 32), "L_2": cache(number, 8), "R_kv": 120 * (number + 64)}[size]
        expected = [
            [i + 1 for i, each in enumerate(totals) if each == total] for total in sorted({*totals}, reverse=True)
        ]
        (ranking,) = [
            each["largest_first"]
            for each in found
            if each["first"] <= number and (each["last"] is None or number <= each["last"])
        ]
        assert ranking == expected


def test_equal_points_by_hand() -> None:
    # 2L² - 3L - 7 = 0 at (3 + √65)/4; isqrt gives √65 to 20 digits
    (root,) = equal_points(2 * L**2 - 3 * L - 7, L)
    exact = Fraction(3 * 10**20 + isqrt(65 * 10**40), 4 * 10**20)
    assert abs(root.value - exact) < Fraction(1, 10**10)
    assert (root.exact, root.to_json()) == (False, "2.76556443707")
    assert equal_points((L - 4) * (3 * L - 100) * (L + 5), L) == (EqualPoint(Fraction(4)), EqualPoint(Fraction(100, 3)))
    assert equal_points(3 * L + 5, L) == ()
    # below the window 5L - 20 = 0 at 4, above it 5·3 - L = 0 at 15
    assert equal_points(sympy.Min(5 * C - 20, 15 - C), C) == (EqualPoint(Fraction(4)), EqualPoint(Fraction(15)))
    bent = sympy.Min(2 * L - sympy.Rational(42, 5), 10 * L - 45) + sympy.Rational(3, 5)
    # 10L - 44.4 = 0 at 4.44 and 2L - 7.8 = 0 at 3.9; the first argument is smaller from 36.6/8 = 4.575
    assert equal_points(bent, L) == (EqualPoint(Fraction(444, 100)),)
    assert equal_points(sympy.ceiling(L / 4) - 3, L) == ()


def test_crossover_of_attention_and_mlp_in_closed_form() -> None:
    """Attention of GPT-2 has 4BS²E + 8BSE² FLOPs, a gated MLP with H = 8E/3 has 16BSE²: equal at S = 2E."""
    parts = ("compare", "gpt2", "gpt2", "-q", "flops", "--part", "1:h.attn", "--part", "2:h.mlp", "--crossover", "S")
    said = run(*parts, "--set", "E=96", "--set", "P=100000").stdout
    assert "\nS = 2E\n" in said
    assert (
        "(1) is larger for S from 193 to 100,000 and gpt2 (h.mlp) (2) for S ≤ 191; the totals are equal at S = 192."
        in said
    )
    for length in (191, 192, 193):
        attention, mlp = 4 * length**2 * 96 + 8 * length * 96**2, 16 * length * 96**2
        assert (attention > mlp) - (attention < mlp) == (length > 192) - (length < 192)


def test_no_long_fractions_in_text() -> None:
    for arguments in (
        ("compare", "gpt2", "llama-2-7b"),
        ("compare", "deepseek-v3", "qwen3-235b-a22b"),
        ("compare", "gpt2", "gpt2-xl", "--match", "params", "--adjust", "L"),
        ("compare", "gpt2", "-q", "train-flops", "--divide-by", "params", "--set", "B=1", "--set", "S=1024"),
        ("sensitivity", "gpt2"),
        ("sensitivity", "llama-2-7b", "-q", "decode-time", "--set", "B=1", "--set", "C=1000", "--set",
         "N_bw=3350000000000", "--set", "N_peak=989000000000000"),
        ("show", "gpt2", "-q", "intensity", "--set", "B=1", "--set", "S=1024"),
    ):  # fmt: skip
        result = run(*arguments)
        assert result.exit_code == 0, result.stderr
        assert not re.search(r"\d{2,}/\d[\d,]{4,}", result.stdout), arguments


@pytest.mark.parametrize("call", [sympy.Min, sympy.Max])
def test_branches_cover_all_sizes(call: type[sympy.Expr]) -> None:
    formula = 3 * E * call(C, C_win - 1, 2 * S) + call(C, S)
    found = branches(formula, C)
    assert 3 <= len(found) <= 6
    for c in (1, 5, 9, 25):
        for window in (3, 8, 31):
            for s in (2, 6, 13):
                sizes = {C: c, C_win: window, S: s, E: 7}
                active = [each for each in found if each.holds(sizes)]
                assert len(active) == 1, (sizes, [each.text for each in found])  # no two arguments are equal
                assert active[0].expr.subs(sizes) == formula.subs(sizes)


def test_elasticities_in_the_branches_of_a_window() -> None:
    """A cache of min(C, 4095) tokens grows with C below the window, and with the window above it: 4096/4095."""
    inside = sensitivity(sf.model("mistral-7b-v0.1").set({"B": 1, "C": 1000}), "kv-cache")
    beyond = sensitivity(sf.model("mistral-7b-v0.1").set({"B": 1, "C": 5000}), "kv-cache")
    border = sensitivity(sf.model("mistral-7b-v0.1").set({"B": 1, "C": 4095}), "kv-cache")

    def elasticity(change: Change) -> Fraction | None:
        return None if change.active is None else change.evaluate(change.active.elasticity)

    assert [elasticity(each["C"]) for each in (inside, beyond, border)] == [1, 0, None]
    assert [elasticity(each["C_win"]) for each in (inside, beyond)] == [0, Fraction(4096, 4095)]
    told = json.loads(run("sensitivity", "mistral-7b-v0.1", "-q", "kv-cache", "--json").stdout)
    (row,) = [each for each in told["sizes"] if each["size"] == "C"]
    assert row["derivative"] is None
    assert row["branches"] == [
        {"where": ["C < C_win - 1"], "derivative": "4*B*L*G*D", "elasticity": "1"},
        {"where": ["C_win - 1 < C"], "derivative": "0", "elasticity": "0"},
    ]


def test_a_time_bound_is_elastic_in_its_active_side() -> None:
    """Bytes over the bandwidth are more than FLOPs over the peak, so only the bandwidth counts: elasticity -1."""
    sizes = {"B": 1, "C": 1000, "N_bw": 3_350_000_000_000, "N_peak": 989_000_000_000_000}
    found = sensitivity(sf.model("llama-2-7b").set(sizes), "decode-time")
    active = {name: found[name].active for name in ("N_bw", "N_peak")}
    assert active["N_bw"] is not None
    assert active["N_bw"].elasticity == -1
    assert active["N_peak"] is not None
    assert active["N_peak"].elasticity == 0


def test_spans_and_equal_points_agree() -> None:
    for slope, constant in ((7, 100), (3, 27), (12, 50)):
        difference = slope * L - constant
        (point,) = equal_points(difference, L)
        for span in spans(difference, L):
            assert (span.sign > 0) == (span.first > point.value)
            assert (span.sign == 0) == (span.first == point.value)
