"""Sizes for a given total: the same sets as by brute force, and published sizes."""

from __future__ import annotations

import dataclasses
import json
import random
from itertools import product
from typing import Any

import numpy
import pytest
from click.testing import CliRunner, Result

import symformer as sf
from symformer.algebra.solve import Solutions, solve
from symformer.commands.cli import cli
from symformer.formulas.formula import Formula
from symformer.language.errors import SymformerError
from symformer.language.notation.text import code

from .samples import sampled


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["solve", *arguments], prog_name="symformer")


def found(*arguments: str, status: int = 0) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == status, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def sizes(solutions: Solutions) -> set[tuple[int, ...]]:
    return {tuple(each.sizes[name] for name in solutions._names) for each in solutions.all}


class Brute:
    """Yield every combination, one by one: Python's arithmetic for the value, and the formula's for its conditions."""

    def __init__(self, formula: Formula, numbers: dict[str, int]) -> None:
        self.formula, self.numbers = formula, numbers
        self.code = compile(code(formula.expanded), "formula", "eval")

    def value(self, point: dict[str, int]) -> Any:
        calls = {"ceil": lambda x: -(-x // 1), "floor": lambda x: x // 1, "min": min, "max": max}
        return eval(self.code, {"__builtins__": {}}, {**calls, **self.numbers, **point})  # noqa: S307

    def stands(self, point: dict[str, int]) -> bool:
        try:
            self.formula.value({**self.numbers, **point})
        except SymformerError:
            return False
        return True


# The unknown sizes, with as many values as brute force allows, and the fixed sizes.
CASES: list[tuple[str, str, list[str], int, list[str]]] = [
    ("component:mlp", "params", ["E", "H"], 30, []),
    ("component:linear", "params", ["E"], 200, []),
    ("component:self-attention", "params", ["E", "A", "D"], 9, ["G"]),
    ("llama", "params", ["L", "E", "H"], 9, ["V", "A", "G", "D"]),
    ("llama", "params", ["A", "G"], 24, ["L", "V", "E", "H", "D"]),
    ("llama", "params", ["L", "G", "A"], 9, ["V", "E", "H", "D"]),
    ("llama", "kv-cache", ["L", "C", "G"], 9, ["B", "A", "D"]),
    ("llama", "flops", ["S", "L"], 24, ["B", "V", "E", "H", "A", "G", "D"]),
    ("mixtral", "params", ["X", "M"], 24, ["L", "V", "E", "A", "G", "D", "K"]),
    ("mixtral", "active-params", ["K", "M"], 24, ["L", "V", "E", "A", "G", "D", "X"]),
    ("gemma2", "kv-cache", ["C", "L_local"], 24, ["B", "C_win", "L_global", "A", "G", "D"]),
]
FITTING = {"G": 2, "A": 8, "K": 2, "X": 8}


def cases() -> list[tuple[int, int]]:
    return [(seed, seed % len(CASES)) for seed in range(300)]


@pytest.mark.parametrize("group", sampled(5, range(10)))
def test_solutions_equal_exhaustive_search(group: int) -> None:
    """300 random small cases: the total of a random point, with or without a tolerance, or a limit."""
    compared = several = none = 0
    for seed, place in cases()[group::10]:
        source = random.Random(seed)  # noqa: S311
        target, quantity, names, most, rest = CASES[place]
        model = sf.model(target)
        formula = model.formula(quantity)
        known = [str(size) for size in formula.accepted_sizes if str(size) in {*rest, *map(str, formula.symbols)}]
        numbers = {name: source.choice([2, 4, 6, 8]) for name in sorted(known) if name not in names}
        numbers |= {name: FITTING[name] for name in numbers.keys() & FITTING.keys()}
        ranges = {name: range(1, most + 1, source.choice([1, 1, 2, 3])) for name in names}
        opened = model.set({**numbers, **{name: name for name in names}})
        one_by_one = Brute(opened.formula(quantity), numbers)
        points = [dict(zip(names, point, strict=True)) for point in product(*ranges.values())]
        values = [one_by_one.value(point) for point in points]
        total = values[source.randrange(len(points))] + source.choice([0, 0, 1])
        asked = [f"{name}={values.start}:{values[-1]}:{values.step}" for name, values in ranges.items()]
        kind = seed // len(CASES) % 3
        if kind == 0:
            solutions = solve(model, total, unknowns=asked, quantity=quantity, sizes=numbers)
            near = [point for point, value in zip(points, values, strict=True) if value == total]
        elif kind == 1:
            solutions = solve(model, total, tolerance="2%", unknowns=asked, quantity=quantity, sizes=numbers)
            near = [point for point, value in zip(points, values, strict=True) if abs(value - total) * 50 <= total]
        else:
            solutions = solve(model, at_most=total, unknowns=asked, quantity=quantity, sizes=numbers)
            near = [point for point, value in zip(points, values, strict=True) if value <= total]
            near.sort(key=lambda point: -point[names[0]])
        if kind < 2:
            expected = {tuple(point.values()) for point in near if one_by_one.stands(point)}
        else:
            best: dict[tuple[int, ...], int] = {}
            for point in near:
                key = tuple(point[name] for name in names[1:])
                if key not in best and one_by_one.stands(point):
                    best[key] = point[names[0]]
            expected = {(most, *key) for key, most in best.items()}
        assert sizes(solutions) == expected, (seed, target, quantity, asked, numbers, total)
        if not expected:
            away = [
                abs(v - total) for p, v in zip(points, values, strict=True) if v <= 2 * total and one_by_one.stands(p)
            ]
            nearest = None if solutions.nearest is None else abs(solutions.nearest.difference)
            assert nearest == min(away, default=None), (seed, target, quantity, asked, numbers, total)
        compared += 1
        several += len(expected) > 1
        none += not expected
    assert compared == 30
    assert several >= 3
    assert none >= 1


@pytest.mark.parametrize("seed", range(12))
def test_without_ranges_all_solutions_are_found(seed: int) -> None:
    """2EH + E + H = N is (2E + 1)(2H + 1) = 2N + 1, so the odd divisors of 2N + 1 give all solutions."""
    total = random.Random(seed).randint(10, 10**7)  # noqa: S311
    double = 2 * total + 1
    divisors = [each for each in range(3, double // 3 + 1, 2) if double % each == 0] if total < 10**7 else []
    expected = {((each - 1) // 2, (double // each - 1) // 2) for each in divisors}
    assert sizes(solve(sf.model("component:mlp"), total, unknowns=["E", "H"])) == expected


def test_solutions_beyond_64_bits_for_one_unknown_size() -> None:
    """GPT-2 with V = E = P = 10^14 = X: 12LX² + 13LX + 2X² + 2X, which is at most 10^31 for L <= 83."""
    model = sf.architecture("gpt2").set({"A": 5, "E": 10**14, "V": 10**14, "P": 10**14})
    layer, rest = 12 * 10**28 + 13 * 10**14, 2 * 10**28 + 2 * 10**14
    most = sf.solve(model, at_most=str(10**31), unknowns="L").all
    assert [dict(each.sizes) for each in most] == [{"L": (10**31 - rest) // layer}] == [{"L": 83}]
    assert [dict(each.sizes) for each in sf.solve(model, str(7 * layer + rest), unknowns="L").all] == [{"L": 7}]


def test_published_totals_give_published_sizes() -> None:
    """Sizes from published totals: Llama 2 7B, 13B and 70B, GPT-2 and GPT-2 XL."""
    for target, total, layers in (
        ("llama-2-7b", 6_738_415_616, 32),
        ("llama-2-13b", 13_015_864_320, 40),
        ("llama-2-70b", 68_976_648_192, 80),
        ("gpt2", 124_439_808, 12),
        ("gpt2-xl", 1_557_611_200, 48),
    ):
        assert found(target, "--total", str(total), "--find", "L")["solutions"][0]["sizes"] == {"L": layers}
    both = found("gpt2", "--total", "1557611200", "--find", "L", "--find", "E", "--set", "A=25")
    assert {"L": 48, "E": 1600} in [each["sizes"] for each in both["solutions"]]


def test_solutions_within_a_margin_are_ranked() -> None:
    document = found(
        *(
            "llama",
            "--total",
            "7e9",
            "--tolerance",
            "1%",
            "--find",
            "L",
            "--find",
            "E=2048:8192:64",
            "--set",
            "V=32000",
        ),
        *("--set", "D=64", "--where", "A = E/64", "--where", "G=A", "--where", "H = 4*E"),
    )
    assert document["wanted"] == {"least": 6_930_000_000, "most": 7_070_000_000}
    # 16LE² + 2LE + 64,001E with A·D = E and H = 4E
    expected = {
        (layers, e)
        for e in range(2048, 8193, 64)
        for layers in range(1, 200)
        if 6_930_000_000 <= 16 * layers * e * e + 2 * layers * e + 64_001 * e <= 7_070_000_000
    }
    assert {(each["sizes"]["L"], each["sizes"]["E"]) for each in document["solutions"]} == expected
    rough = [each["sizes"]["E"] % 128 for each in document["solutions"]]
    assert rough == sorted(rough)  # multiples of 128 before multiples of 64
    assert document["solutions"][0]["sizes"].keys() == {"L", "E", "A", "G", "H"}


def test_the_longest_context_for_a_budget() -> None:
    """Llama 2 7B with batch 8 in 80 GB: 2 bytes per weight, and 2·2·L·G·D = 2·2·32·32·128 per cached token."""
    document = found("llama-2-7b", "-q", "inference-memory", "--at-most", "80GB", "--find", "C", "--set", "B=8")
    logits = 8 * 32_000 * 4  # for the last token, in 4 bytes
    weights, token = 2 * 6_738_415_616 + logits, 2 * 2 * 32 * 32 * 128
    assert document["solutions"] == [
        {
            "sizes": {"C": (80 * 10**9 - weights) // (8 * token)},
            "value": weights + 8 * token * ((80 * 10**9 - weights) // (8 * token)),
            "difference": -((80 * 10**9 - weights) % (8 * token)),
            "buildable": True,
        }
    ]


def test_a_limit_far_below_the_budget_is_respected() -> None:
    """GPT-2 has 1,024 positions, one of which is for the next token, and 80 GB would fit many more."""
    document = found("gpt2", "-q", "inference-memory", "--at-most", "80GB", "--find", "C", "--set", "B=8")
    token = 2 * 2 * 12 * 768  # bytes of the keys and values of one token in 12 layers, in 2 bytes
    value = 2 * 124_439_808 + 8 * 1_023 * token + 8 * 50_257 * 4
    assert [(each["sizes"], each["value"]) for each in document["solutions"]] == [({"C": 1_023}, value)]
    document = found("gpt2", "-q", "flops", "--total", "1e15", "--find", "S", "--set", "B=1", status=1)
    assert document["nearest"]["sizes"] == {"S": 1_024}
    document = found("mixtral-8x7b", "-q", "active-params", "--at-most", "50e9", "--find", "K")
    assert [each["sizes"] for each in document["solutions"]] == [{"K": 8}]  # K <= X = 8


@pytest.mark.parametrize("total", ["1e12", "1e18"])
def test_a_condition_on_two_unknown_sizes_bounds_both(total: str) -> None:
    """GPT-2 has 1,024 positions for S and N_new - 1 together: 524,800 pairs, with fewer than 1e12 FLOPs."""
    formula = sf.model("gpt2").formula("generation-flops")
    pairs = [(s, n) for s in range(1, 1_025) for n in range(1, 1_026 - s)]
    assert len(pairs) == 524_800
    prompts, new = (numpy.array(column) for column in zip(*pairs, strict=True))
    values = formula.compile()(S=prompts, N_new=new, B=1)
    asked = ("gpt2", "-q", "generation-flops", "--find", "S", "--find", "N_new", "--set", "B=1", "--total")
    document = found(*asked, total, status=1)
    assert document["nearest"]["value"] == int(values.max()) < 10**12
    one = int(values[123_456])
    solutions = found(*asked, str(one))["solutions"]
    expected = {(int(prompts[row]), int(new[row])) for row in (values == one).nonzero()[0]}
    assert {(each["sizes"]["S"], each["sizes"]["N_new"]) for each in solutions} == expected


def test_progress_is_reported_while_combinations_are_tried() -> None:
    told: list[tuple[int, int]] = []
    solutions = sf.solve("llama-2-7b", "7e9", unknowns=["L", "E"])
    solutions = dataclasses.replace(solutions, progress=lambda done, total: told.append((done, total)))
    assert not solutions.all
    assert told[-1][0] == told[-1][1] > 0
    assert told == sorted(told)


def test_names_are_built_once_for_many_solutions() -> None:
    """Every solution needs the names of its sizes, which are computed once."""
    solutions = sf.solve("gpt2", "1e13", tolerance="1%", quantity="flops", unknowns=["S", "B"])
    assert len(solutions.all) > 1_000
    assert solutions._names is solutions._names
    assert solutions.numbers is solutions.numbers


def test_an_empty_result_reports_the_nearest_value() -> None:
    result = run("llama-2-7b", "--total", "6738415617", "--find", "L")
    assert result.exit_code == 1
    assert result.stdout.endswith("\nno solution; the nearest is L = 32: 6,738,415,616 (-1)\n")
    assert result.stderr == ""
    # the smallest GPT-2 with 12 heads: E = 12, L = 1: 12*144 + 13*12 + (50,257 + 1,024 + 2)*12 = 617,280
    least = run("gpt2", "--total", "1", "--find", "L", "--find", "E", "--set", "A=12")
    assert least.stdout.endswith("\nno solution; the nearest is L = 1, E = 12: 617,280 (+617,279)\n")
    assert found("llama-2-7b", "--total", "6738415617", "--find", "L", status=1)["nearest"]["sizes"] == {"L": 32}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--find", "L"], "give a total, an upper limit or a condition, as in --total 7e9, --at-most 7e9 or --filter"),
        (["--find", "L", "--total", "7e9", "--at-most", "7e9"], "a total and an upper limit cannot be combined"),
        (["--find", "L", "--at-most", "7e9", "--tolerance", "1%"], "cannot be combined with --at-most; remove"),
        (["--find", "L", "--total", "7.5"], "'7.5' is 15/2, which is not an integer"),
        (["--find", "L", "--total", "lots"], "'lots' is not a valid amount"),
        (["--find", "L", "--total", "0"], "'0' is out of range; give a whole number from 1 to 1e40"),
        (["--find", "L", "--total", "7GB"], "'7GB' is in bytes, but this quantity is counted in elements"),
        (["--find", "L", "--total", "7e9", "--tolerance", "100%"], "--tolerance 100% would accept every value from 0"),
        (["--find", "L", "--total", "7e9", "--tolerance", "some"], "--tolerance 'some' is not valid; give a"),
        (["--find", "L", "--total", "7e9", "--tolerance", "nan"], "--tolerance 'nan' is not valid"),
        (["--find", "L", "--total", "7e9", "--tolerance", "1x"], "'1x' ends in the unknown suffix 'x'"),
        (["--find", "Q", "--total", "7e9"], "unknown symbol 'Q'"),
        (["--find", "L", "--find", "L=1:3", "--total", "7e9"], "--find L is given twice; keep one"),
        (["--find", "S", "--total", "7e9"], "S has no effect: gpt2.params does not depend on S"),
        (["--find", "A", "--total", "7e9"], "A does not affect gpt2.params = 12LE² + 13LE"),
        (["--find", "L", "--total", "7e9", "--set", "L=3"], "L is varied or solved for, but also set to 3"),
        (["--find", "L", "--total", "7e9", "--set", "B=3"], "B=3 has no effect"),
        (["--find", "L", "--total", "7e9", "-q", "flops"], "gpt2.flops needs a value for B, S; set each with --set"),
        (["--find", "L", "--total", "7e9", "-q", "intensity"], "gpt2.intensity needs a value for B, S; set each"),
        (["--find", "L", "--find", "E", "--find", "V", "--total", "7e12"], "combinations within the limit; give"),
        (["--find", "L", "--total", "7e9", "--where", "E = __import__('os')"], "is not plain arithmetic"),
    ],
)  # fmt: skip
def test_invalid_requests_are_refused_in_one_sentence(arguments: list[str], said: str) -> None:
    result = run("gpt2", *arguments)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1


def test_unbounded_and_non_monotonic_totals() -> None:
    refused = run("mistral-7b-v0.1", "-q", "kv-cache", "--at-most", "80GB", "--find", "C", "--set", "B=1")
    assert refused.exit_code == 2
    assert "mistral.kv-cache stays within the limit for every C; give it a range" in refused.stderr
    # multi-query attention has 2E²/A parameters, which decrease, but 2A divides E = 4544
    free = found("falcon-7b", "--total", "7e9", "--tolerance", "1%", "--find", "A")
    bounded = found("falcon-7b", "--total", "7e9", "--tolerance", "1%", "--find", "A=1:4544:1")
    assert free["solutions"] == bounded["solutions"]
    refused = run("llama-2-7b", "-q", "attention-share", "--at-most", "99%", "--find", "B")
    assert "B has no effect" in refused.stderr
    refused = run("mistral-7b-v0.1", "-q", "intensity", "--at-most", "1e9", "--find", "S", "--set", "B=1")
    assert refused.exit_code == 2
    assert "S has no upper bound under these conditions; give it a range, as in --find S=1:4096:1" in refused.stderr
    document = found("falcon-7b", "--total", "7e9", "--tolerance", "1%", "--find", "A=1:142:1")
    # LE²(10 + 2/A) + ... for Falcon-7B; 2A divides E = 4544 = 2^6 * 71
    heads = [each["sizes"]["A"] for each in document["solutions"]]
    assert {each for each in heads if 4544 % (2 * each)} == set()
    values = [sf.model("falcon-7b").params.value(A=number) for number in heads]
    assert [each["value"] for each in document["solutions"]] == values


def test_set_is_another_name_for_given() -> None:
    arguments = ("llama-2-7b", "-q", "inference-memory", "--at-most", "80GB", "--find", "C")
    assert found(*arguments, "--set", "B=8") == found(*arguments, "--set", "B=8")


def test_conventions_without_effect_on_the_formula_are_omitted() -> None:
    """Llama 2 has no sliding window and no latent; its cache has a dtype."""
    said = run("llama-2-7b", "-q", "inference-memory", "--at-most", "80GB", "--find", "C", "--set", "B=8").stdout
    assert "\nwindow=" not in said
    assert "\nlatent=" not in said
    assert "\ncache=bf16\n" in said
    windowed = run("mistral-7b-v0.1", "-q", "kv-cache", "--total", "1e9", "--find", "C=1:4096:1", "--set", "B=1").stdout
    assert "\nwindow=" in windowed


def test_within_is_a_percentage_or_an_amount() -> None:
    solutions = sf.solve("llama-2-7b", 6_738_415_616, tolerance=202_383_360, unknowns="L")  # one layer more, one less
    assert sizes(solutions) == {(31,), (32,), (33,)}
    for within in (float("nan"), 0.01, -1, True, "nan", "-1%"):
        with pytest.raises(SymformerError, match=r"--tolerance .* is not valid"):
            sf.solve("llama-2-7b", 7e9, tolerance=within, unknowns="L")  # type: ignore[arg-type]


def test_an_unknown_convention_is_refused() -> None:
    with pytest.raises(SymformerError, match="unknown convention 'attention' of params"):
        sf.solve("llama-2-7b", 7e9, unknowns="L", attention="causal")
    with pytest.raises(SymformerError, match="unknown convention 'windows' of params and kv-cache"):
        sf.sweep("llama-2-7b", {"L": [2]}, ["params", "kv-cache"], sizes={"B": 1, "C": 7}, windows="full")


def test_solve_in_python() -> None:
    solutions = sf.solve("llama-2-7b", 7e9, tolerance="5%", unknowns=["L"])
    # 32 layers have 6,738,415,616 and each has 202,383,360; 32 to 35 layers are between 6.65e9 and 7.35e9
    assert sizes(solutions) == {(32,), (33,), (34,), (35,)}
    assert repr(solutions).startswith("<llama.params of 7,000,000,000 elements within 5%: 4 solutions")
    assert "no solution" not in (solutions._repr_html_() or "")
    assert "& \\mathrm{elements} &" in (solutions._repr_latex_() or "")
    assert len(solutions.to_json()["solutions"]) == 4
