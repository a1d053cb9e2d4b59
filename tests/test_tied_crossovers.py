"""Crossovers while totals stay equal, compared with all integers tried one by one."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from fractions import Fraction

import pytest
from click.testing import CliRunner
from sympy import Symbol

import symformer as sf
from symformer.algebra.crossover import AllowedValues
from symformer.algebra.model_comparison import Comparison
from symformer.commands.cli import cli
from symformer.language.errors import SizeError
from symformer.language.notation.display_tree import value
from symformer.language.sizes import substitute

FAR = 60  # tried integers
SEED = 2_718


def totals(own: Mapping[str, int]) -> tuple[Fraction, Fraction, Fraction]:
    """The parameters of GPT-2, 12LE² + 13LE + VE + PE + 2E; of a Llama without layers, and of one of its layers."""
    e, k = own["E_1"], own["E_2"]
    first = 12 * own["L_1"] * e * e + 13 * own["L_1"] * e + (own["V_1"] + own["P"] + 2) * e
    layer = k * (2 * own["D"] * (own["A"] + own["G"]) + 3 * own["H"] + 2)
    return Fraction(first), Fraction(2 * own["V_2"] * k + k), Fraction(layer)


def amounts(own: Mapping[str, int], layers: Fraction, quantity: str) -> tuple[Fraction, Fraction]:
    """Return both caches, 4BCLE and 4BCLGD; or their forward FLOPs, 2 per multiply-add."""
    first, k = own["L_1"] * own["E_1"], own["E_2"]
    if quantity == "kv-cache":
        times = 4 * own["B"] * own["C"]
        return Fraction(times * first), times * layers * own["G"] * own["D"]
    s = own["S"]
    heads = own["A"] * own["D"]
    each = 4 * k * own["D"] * (own["A"] + own["G"]) + 6 * k * own["H"] + 4 * s * heads
    mine = 24 * first * own["E_1"] + 4 * s * first + 2 * own["V_1"] * own["E_1"]
    return Fraction(own["B"] * s * mine), own["B"] * s * (layers * each + 2 * own["V_2"] * k)


def drawn(chance: random.Random, quantity: str) -> tuple[Comparison, dict[str, int]]:
    """Two small models whose sizes all differ, with equal parameters by the second model's number of layers."""
    some = chance.sample(range(2, 24), 9)
    names = ("L_1", "E_1", "V_1", "P", "E_2", "V_2", "H", "D", "G")
    own = dict(zip(names, some, strict=True)) | {"B": 30, "S": 31, "C": 37}
    own["P"] += 40
    own |= {"A": own["G"] * chance.choice([1, 3]), "L_1": own["L_1"] + 12}
    run = {"B": own["B"], "C": own["C"]} if quantity == "kv-cache" else {"B": own["B"], "S": own["S"]}
    gpt2 = sf.architecture("gpt2").set({"L": own["L_1"], "E": own["E_1"], "A": 1, "V": own["V_1"], "P": own["P"]} | run)
    second = {name.partition("_")[0]: own[name] for name in ("E_2", "V_2", "H", "D", "G", "A")}
    return sf.compare(gpt2, sf.architecture("llama").set(second | run), quantity, match="params", adjust="L"), own


def own_name(size: Symbol) -> str:
    """Return a size of a pair; its name is longer if another size already has it."""
    return str(size).rstrip("_")


@pytest.mark.parametrize("quantity", ["kv-cache", "flops"])
def test_crossovers_match_every_integer_by_hand(quantity: str) -> None:
    chance, tried, turned = random.Random(SEED), 0, 0  # noqa: S311
    for _ in range(12):
        try:
            found, own = drawn(chance, quantity)
        except SizeError:  # the second has more parameters even without layers
            continue
        assert found.tied_crossovers is not None
        for name in ("L_1", "V_1", "P", "H", "V_2"):
            (size,) = [each for each in found.tied_crossovers.sizes if own_name(each) == name]
            spans = found.tied_crossovers.crossing(size)
            turned += len(spans) > 1
            for number in range(1, FAR):
                here = own | {name: number}
                first, rest, layer = totals(here)
                layers = (first - rest) / layer
                side = [each.sign for each in spans if each.first <= number and (each.last or FAR) >= number]
                if layers <= 0 or number not in found.tied_crossovers.allowed.get(size, AllowedValues()):
                    assert side == [], (name, number, own)
                    continue
                mine, other = amounts(here, layers, quantity)
                assert side == [(mine > other) - (mine < other)], (name, number, own)
                tried += 1
    assert tried > 1_000
    assert turned > 5


def test_totals_are_equal_at_a_solution() -> None:
    """At the value of the formula, and with the tied layers there, the two caches are equal."""
    found, own = drawn(random.Random(SEED), "kv-cache")  # noqa: S311
    assert found.tied_crossovers is not None
    checked = 0
    for size in found.tied_crossovers.sizes:
        solution = found.tied_crossovers.solution(size)
        if solution is None or "√" in str(solution.shown):
            continue
        at = substitute(
            value(solution.shown), {each: own[own_name(each)] for each in found.tied_crossovers.sizes if each != size}
        )
        if not at.is_Rational or at <= 0:
            continue
        here = own | {own_name(size): Fraction(int(at.p), int(at.q))}  # type: ignore[dict-item]
        first, rest, layer = totals(here)
        mine, other = amounts(here, (first - rest) / layer, "kv-cache")
        assert mine == other, (size, at)
        checked += 1
    assert checked >= 3


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["compare", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_command_reports_both_models() -> None:
    """GPT-2 XL caches 48·1600 elements of keys per token, and Llama-2 7B L_2·4096 at the tied number of layers."""
    told = run("gpt2-xl", "llama-2-7b", "-q", "kv-cache", "--match", "params", "--adjust", "L", "--crossover", "P")
    assert "With equal parameters, adjusting L_2:" in told
    assert "The difference does not depend on P." in told
    facts = json.loads(run("gpt2-xl", "llama-2-7b", "-q", "kv-cache", "--match", "params", "--adjust", "L", "--json"))
    # 48·1600 = L_2·4096 for L_2 = 18.75, with 202,383,360·18.75 weights: P = (that + 262,148,096 - rest)/1600
    p = (Fraction(202_383_360 * 75, 4) + 262_148_096 - 12 * 48 * 1600**2 - 13 * 48 * 1600 - 50_259 * 1600) / 1600
    assert facts["tied"]["crossover"]["P"]["left"] == [[1, int(p)]]
    assert facts["tied"]["crossover"]["P"]["right"] == [[int(p) + 1, None]]


def test_formula_with_a_min_gives_a_one_sentence_error() -> None:
    windowed = ("gpt2-xl", "mistral", "-q", "kv-cache", "--match", "params", "--adjust", "L", "--crossover", "C")
    told = run(*windowed, "--option", "2:window=rolling")
    assert "no closed form shows which is larger: the difference contains a minimum or a maximum" in told
