"""Sizes under several conditions on quantities: the same sets as by brute force, over 300 random problems."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any

import pytest
from click.testing import CliRunner, Result

import symformer as sf
from symformer.algebra import condition_search
from symformer.algebra.solve import Solutions, solve
from symformer.commands.cli import cli
from symformer.language.errors import SymformerError
from symformer.language.notation.text import code
from symformer.models.model import Model

from .samples import sampled

Point = dict[str, int]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["solve", *arguments], prog_name="symformer")


def found(*arguments: str, status: int = 0) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == status, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


class Counted:
    """A quantity at one point: Python's exact arithmetic, and the formula's own check of its conditions."""

    def __init__(self, model: Model, quantity: str, numbers: Point, fixed: Point) -> None:
        self.fixed = fixed
        self.formula = model.formula(quantity)
        self.numbers = {**numbers, **fixed}
        used = {str(size) for size in self.formula.symbols}
        self.sizes = used - fixed.keys()
        sides = [self.formula.expanded]
        if not self.formula.additive:
            sides = [self.formula.numerator.expanded, self.formula.denominator.expanded]  # type: ignore[attr-defined]
        self.sides = [compile(code(side), "formula", "eval") for side in sides]

    def __call__(self, point: Point) -> Fraction:
        calls = {"ceil": lambda x: -(-x // 1), "floor": lambda x: x // 1, "min": min, "max": max}
        names = {name: Fraction(number) for name, number in {**self.numbers, **point, **self.fixed}.items()}
        values = [eval(side, {"__builtins__": {}}, {**calls, **names}) for side in self.sides]  # noqa: S307
        return Fraction(values[0]) / (values[1] if len(values) > 1 else 1)

    def stands(self, point: Point) -> bool:
        every = {**self.numbers, **point, **self.fixed}
        known = {name: number for name, number in every.items() if name in map(str, self.formula.accepted_sizes)}
        try:
            self.formula.value(known)
        except SymformerError:
            return False
        return True


# For each model: the sizes that can be unknown with the largest value and a step, and the numbers of all sizes.
MODELS: dict[str, tuple[dict[str, tuple[int, int]], Point]] = {
    "gpt2": (
        {"L": (12, 1), "E": (96, 8), "S": (24, 1), "B": (6, 1), "V": (60, 6), "C": (20, 1), "N_new": (9, 1)},
        {"L": 3, "E": 24, "S": 7, "B": 2, "V": 50, "P": 26, "A": 4, "C": 11, "N_new": 5, "N_tok": 5_000},
    ),
    "llama": (
        {"L": (9, 1), "E": (64, 8), "H": (80, 10), "G": (8, 1), "A": (8, 1), "S": (24, 1), "B": (6, 1), "C": (20, 1)},
        {
            "L": 3,
            "E": 24,
            "H": 70,
            "S": 7,
            "B": 2,
            "V": 50,
            "A": 8,
            "G": 2,
            "D": 6,
            "C": 11,
            "N_new": 5,
            "N_tok": 7_000,
        },
    ),
    "mixtral": (
        {"L": (9, 1), "X": (9, 1), "K": (4, 1), "M": (40, 5), "S": (24, 1), "B": (6, 1), "C": (20, 1)},
        {"L": 3, "E": 24, "M": 30, "S": 7, "B": 2, "V": 50, "A": 8, "G": 2, "D": 6, "X": 8, "K": 2, "C": 11},
    ),
}
QUANTITIES = {
    "params": "L E V H G A X M",
    "flops": "L E V H G A X K M S B",
    "kv-cache": "L E G C B",
    "inference-memory": "L E V H G A X M C B",
    "decode-flops": "L E V H G A X K M C B",
    "generation-flops": "L E V H G A S B N_new",
    "attention-share": "L E V H G A S",
    "intensity": "L E V H G A S B",
}


def problem(seed: int) -> Iterator[tuple[Any, ...]]:
    """Yield a random problem: the model, its unknown sizes, the goal, two conditions, and the same in Python."""
    source = random.Random(seed)  # noqa: S311
    target = source.choice([*MODELS, "gpt2", "llama"])
    sizes, numbers = MODELS[target]
    model = sf.model(target)
    if target == "gpt2":
        model = sf.architecture("gpt2")
    while True:
        names = source.sample(list(sizes), source.choice([2, 2, 3, 3, 4]))
        most = {2: 24, 3: 9, 4: 5}[len(names)]
        ranges = {
            name: range(step, min(top, step * most) + 1, step) for name, (top, step) in sizes.items() if name in names
        }
        ranges = {name: ranges[name] for name in names}
        usable = [
            quantity
            for quantity, used in QUANTITIES.items()
            if not (target == "mixtral" and quantity in ("generation-flops", "intensity", "attention-share"))
        ]
        chosen = [source.choice(usable), *source.sample(usable, 3)]
        if all(name in QUANTITIES[chosen[0]].split() for name in names):
            break
    opened = model.set({**numbers, **{name: name for name in names}})
    points = [dict(zip(names, point, strict=True)) for point in product(*ranges.values())]
    yield opened, model, names, ranges, points, chosen, numbers, source


def condition(
    opened: Model, quantity: str, other: str, numbers: Point, points: list[Point], source: random.Random
) -> tuple[str, Callable[[Point], bool], list[Counted]]:
    """Return a condition that some points satisfy, as text and in Python, with the quantities in it."""
    counted = Counted(opened, quantity, numbers, {})
    run_sizes = [name for name in ("C", "S", "B") if name in counted.sizes]
    fixed = {name: source.randint(1, 12) for name in run_sizes if source.random() < 0.4}
    if fixed:
        counted = Counted(opened, quantity, numbers, fixed)
    spelt = quantity + (f"({', '.join(f'{name}={number}' for name, number in fixed.items())})" if fixed else "")
    value = counted(source.choice(points))
    kind = source.choice([0, 1, 3, 4]) if other == quantity else source.randrange(6)
    if kind == 0:
        limit = ceil(value * 100) if value.denominator != 1 else int(value)
        share = value.denominator != 1
        text = f"{spelt} <= {limit}%" if share else f"{spelt} <= {limit}"
        return text, lambda p: counted(p) <= Fraction(limit, 100 if share else 1), [counted]
    if kind == 1:
        limit = int(value)
        return f"{spelt} > {limit}", lambda p: counted(p) > limit, [counted]
    if kind == 2:
        over = Counted(opened, other, numbers, {})
        ratio = max(1, int(value / over(source.choice(points))))
        return f"{spelt} >= {ratio}*{other}", lambda p: counted(p) >= ratio * over(p), [counted, over]
    if kind == 3:
        name, number = source.choice(list(points[0])), source.choice([2, 3, 4, 8])
        text = f"{number} divides {name} and {spelt} <= {float(value):.6g}"
        limit_exact = Fraction(f"{float(value):.6g}")
        return text, lambda p: p[name] % number == 0 and counted(p) <= limit_exact, [counted]
    if kind == 4:
        first, second = source.sample(list(points[0]), 2)
        low = source.choice(points)
        product_of = low[first] * low[second]
        text = f"{first}*{second} <= {product_of} and {spelt} >= {int(value) // 3}"
        limit = int(value) // 3
        return text, lambda p: p[first] * p[second] <= product_of and counted(p) >= limit, [counted]
    over = Counted(opened, other, numbers, {})
    name = source.choice(list(points[0]))
    ratio = max(1, int(value / over(source.choice(points)) * 2))
    text = f"{spelt}/{other} < {ratio}*{name}"
    return text, lambda p: counted(p) / over(p) < ratio * p[name], [counted, over]


def sizes_of(solutions: Solutions, names: list[str]) -> set[tuple[int, ...]]:
    return {tuple(each.sizes[name] for name in names) for each in solutions.all}


def compared(seed: int) -> tuple[int, bool]:
    """Compare one random problem with brute force; return the number of solutions."""
    ((opened, model, names, ranges, points, chosen, numbers, source),) = problem(seed)
    conditions = [condition(opened, chosen[at], chosen[3], numbers, points, source) for at in (1, 2)]
    if seed % 5 == 3:  # a quotient of two sums
        chosen = [chosen[0] if opened.formula(chosen[0]).additive else "flops", *chosen[1:3], "params"]
        chosen[0] = chosen[0] if chosen[0] != "params" else "flops"
        conditions = [condition(opened, chosen[at], chosen[3], numbers, points, source) for at in (1, 2)]
    goal = Counted(opened, chosen[0], numbers, {})
    others = Counted(opened, chosen[3], numbers, {})
    aim = goal(source.choice(points))
    asked = [f"{name}={values.start}:{values[-1]}:{values.step}" for name, values in ranges.items()]
    given = {name: number for name, number in numbers.items() if name not in names}
    counts = [goal, *([others] if seed % 5 == 3 else []), *(each for _, _, own in conditions for each in own)]
    needed = {name for each in counts for name in each.sizes}
    formulas = [each.formula for each in counts]
    needed |= {
        str(size) for formula in formulas for size in formula.accepted_sizes if str(size) in ("P", "A", "G", "X")
    }
    given = {name: number for name, number in given.items() if name in needed}
    kind = seed % 5
    within: Callable[[Point], bool] = lambda p: True  # noqa: E731
    arguments: dict[str, Any] = {}
    if kind == 0:
        text = str(aim) if aim.denominator == 1 else f"{float(aim):.4f}"
        exact = Fraction(text)
        arguments = {"total": text if aim.denominator == 1 else Fraction(text), "tolerance": "30%"}
        share = goal.formula.measure.unit.startswith("of the ")
        room = Fraction(3, 10) * (1 if share else exact)
        within = lambda p: abs(goal(p) - exact) <= room  # noqa: E731
    elif kind == 1:
        arguments = {"total": aim if aim.denominator != 1 else int(aim)}
        within = lambda p: goal(p) == aim  # noqa: E731
    elif (
        kind == 2 and seed % 2 and any(name in goal.sizes and name not in "GAKX" for name in names)
    ):  # the same quantity at another size
        fixed = next(name for name in names if name in goal.sizes and name not in "GAKX")
        over = Counted(opened, chosen[0], numbers, {fixed: source.choice(points).get(fixed, 3)})
        arguments = {"at_most": f"{chosen[0]}({fixed}={over.fixed[fixed]})"}
        counts.append(over)
        within = lambda p: goal(p) <= over(p)  # noqa: E731
    elif kind == 2:
        limit = int(aim) + 1
        arguments = {"at_most": limit}
        within = lambda p: goal(p) <= limit  # noqa: E731
    elif kind == 3:
        times = max(1, int(aim / others(source.choice(points))))
        arguments = {"at_most": f"{times}", "per": chosen[3]}
        within = lambda p: goal(p) / others(p) <= times  # noqa: E731
    good = [p for p in points if within(p) and all(holds(p) for _, holds, _ in conditions)]
    good = [p for p in good if all(each.stands(p) for each in counts)]
    expected = {tuple(p.values()) for p in good}
    if kind in (2, 3):
        best: dict[tuple[int, ...], int] = {}
        for p in good:
            key = tuple(p.values())[1:]
            best[key] = max(best.get(key, 0), p[names[0]])
        expected = {(top, *key) for key, top in best.items()}
    texts = [text for text, _, _ in conditions]
    solutions = solve(model, unknowns=asked, quantity=chosen[0], sizes=given, filters=texts, **arguments)
    said = (seed, model.target, chosen, asked, given, texts, arguments)
    assert sizes_of(solutions, names) == expected, said
    for each in solutions.all[:20]:
        own = {name: each.sizes[name] for name in names}
        assert each.value == goal(own) / (others(own) if kind == 3 else 1), said
    if not expected and kind in (0, 1):
        allowed = [p for p in points if all(holds(p) for _, holds, _ in conditions)]
        exact = Fraction(arguments["total"])
        away = [abs(goal(p) - exact) for p in allowed if all(each.stands(p) for each in counts)]
        nearest = None if solutions.nearest is None else abs(solutions.nearest.difference)
        assert nearest == min(away, default=None), said
    return len(expected), len(points) > 300


@pytest.mark.parametrize("group", sampled(5, range(10)))
def test_constrained_solutions_equal_brute_force(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """300 random problems of two to four unknown sizes with two conditions, half of them in many boxes."""
    if group in (2, 3, 5, 6, 9):  # one group of each kind of goal
        monkeypatch.setattr(condition_search, "DIVIDED", 4)
        monkeypatch.setattr(condition_search, "PIECE", 7)
    counts = [compared(seed)[0] for seed in range(group, 300, 10)]
    assert len(counts) == 30
    assert sum(1 for each in counts if each) >= 5


@pytest.mark.parametrize("group", sampled(3, range(5)))
def test_conditions_on_the_rows_of_a_sweep_equal_brute_force(group: int) -> None:
    """60 random grids with two conditions on quantities."""
    some = 0
    for seed in range(group, 60, 5):
        ((opened, model, names, ranges, points, chosen, numbers, source),) = problem(seed)
        conditions = [condition(opened, chosen[at], chosen[3], numbers, points, source) for at in (1, 2)]
        counts = [Counted(opened, chosen[0], numbers, {}), *(each for _, _, own in conditions for each in own)]
        needed = {name for each in counts for name in each.sizes}
        needed |= {str(size) for each in counts for size in each.formula.accepted_sizes} & {"P", "A", "G", "X"}
        swept = sf.sweep(
            model,
            {name: list(values) for name, values in ranges.items()},
            chosen[0],
            sizes={name: number for name, number in numbers.items() if name in needed - {*names}},
            filters=[text for text, _, _ in conditions],
        )
        good = [p for p in points if all(holds(p) for _, holds, _ in conditions)]
        good = [p for p in good if all(each.stands(p) for each in counts)]
        rows = [tuple(row) for row in zip(*(column.tolist() for column in swept.table().values()), strict=True)]
        assert rows == [(*p.values(), counts[0](p)) for p in good], (seed, [text for text, _, _ in conditions])
        some += bool(rows)
    assert some >= 4


def test_conditions_of_quantities_with_arguments_hold_too() -> None:
    """GPT-2 XL has 1,024 positions for C tokens, also if P of the row is larger."""
    swept = sf.sweep("gpt2", {"C": [9, 1_022, 1_023, 1_024, 1_500]}, "kv-cache", sizes={"B": 1, "P": 4_096},
                     filters=["kv-cache(gpt2-xl) >= kv-cache"])  # fmt: skip
    assert swept.table()["C"].tolist() == [9, 1_022, 1_023, 1_024]
    swept = sf.sweep("gpt2", {"P": [9, 2_000, 2_001]}, "params", filters=["inference-memory(C=2000, B=1) <= 1GB"])
    assert swept.table()["P"].tolist() == [2_001]
    solved = sf.solve("gpt2", unknowns="P=1:3000:1", filters=["inference-memory(C=2000, B=1) <= 1GB", "P <= 2003"])
    assert sorted(each.sizes["P"] for each in solved.all) == [2_001, 2_002, 2_003]
    solved = sf.solve("gpt2", unknowns="P=1999:2003:1", quantity="weight-memory",
                      at_most="inference-memory(C=2000, B=1)",
                      filters=["P <= 2002", "P != 2002"])  # fmt: skip
    assert [each.sizes["P"] for each in solved.all] == [2_001]
    refused = run("gpt2", "-q", "weight-memory", "--find", "P=1:2000:1", "--at-most", "inference-memory(C=2000, B=1)")
    assert refused.exit_code == 1


# The forward FLOPs of GPT-2 per token are 24LE² + 4SLE + 2VE, with L = 12, E = 768 and V = 50,257; a training step has
# three times as many.
PER_TOKEN = 3 * (24 * 12 * 768**2 + 4 * 1024 * 12 * 768 + 2 * 50_257 * 768)
PEAK = 312 * 10**12


@pytest.mark.parametrize(
    ("arguments", "sizes", "value"),
    [
        # the bubble is (N_pp - 1)/N_micro
        (["gpt2", "-q", "pipeline-bubble", "--total", "10%", "--find", "N_micro", "--set", "N_pp=4"],
         {"N_micro": 30}, "1/10"),
        (["gpt2", "-q", "pipeline-bubble", "--at-most", "10%", "--find", "N_pp", "--set", "N_micro=36"],
         {"N_pp": 4}, "1/12"),  # N_pp <= 4.6 divides 12
        (["gpt2", "-q", "mfu", "--at-most", "40%", "--find", "N_tps", "--set", "S=1024", "--set", "N_dev=8", "--set",
          f"N_peak={PEAK}"], {"N_tps": 4 * 8 * PEAK // (10 * PER_TOKEN)}, None),
        (["gpt2", "-q", "hfu", "--total", "45.6431%", "--tolerance", "0.0001%", "--find", "N_dev", "--set", "S=1024",
          "--set", "N_tps=1000000", "--set", f"N_peak={PEAK}"],
         {"N_dev": 6}, str(Fraction(10**6 * PER_TOKEN, 6 * PEAK))),
        # a token of Llama 2 7B has 2·2·32·32·128 = 524,288 bytes in the cache, and one of GPT-2 2·2·12·768 = 36,864
        (["gpt2", "-q", "kv-cache(llama-2-7b)/kv-cache", "--total", "128/9", "--find", "L", "--set", "B=1", "--set",
          "C=9"], {"L": 12}, "128/9"),
        (["llama-2-7b", "-q", "kv-cache", "--per", "kv-cache(gpt2)", "--at-most", "4", "--find", "G", "--set", "B=1",
          "--set", "C=9", "--set", "A=32"], {"G": 8}, "32/9"),  # G/32·128/9 <= 4 for G <= 9, and G divides 32
        (["gpt2", "-q", "train-flops", "--per", "6*params*S", "--at-most", "1.1", "--find", "S", "--set", "B=1"],
         {"S": 724}, None),  # 741,192,192 + 110,592S <= 1.1·6·124,439,808
    ],
)  # fmt: skip
def test_ratios_are_solved(arguments: list[str], sizes: Point, value: str | None) -> None:
    document = found(*arguments)
    assert [each["sizes"] for each in document["solutions"]] == [sizes]
    if value is not None:
        assert document["solutions"][0]["value"] == value


def test_the_nearest_ratio() -> None:
    # 4LS²E/(24LSE² + 4LS²E + 2SVE) = 24S/(110,592 + 24S + 50,257), which is 1/2 for S = 160,849/24 = 6,702.04
    share = ("gpt2", "-q", "attention-share", "--find", "S")
    nearest = found(*share, "--total", "50%", "--set", "P=9000", status=1)["nearest"]
    assert nearest["sizes"] == {"S": 6_702}
    assert Fraction(nearest["value"]) == Fraction(24 * 6_702, 110_592 + 24 * 6_702 + 50_257)
    assert Fraction(nearest["difference"]) == Fraction(nearest["value"]) - Fraction(1, 2)
    # far from a total that cannot be reached: GPT-2 has 1,024 positions
    nearest = found(*share, "--total", "90%", status=1)["nearest"]
    assert nearest["sizes"] == {"S": 1_024}
    # 854,...·10^6/(N·312·10^12) is 54.8% for N = 5 and 45.6% for N = 6, which is nearer to 50%
    used = ("gpt2", "-q", "mfu", "--find", "N_dev", "--set", "S=1024", "--set", f"N_peak={PEAK}")
    shares = {number: abs(Fraction(10**6 * PER_TOKEN, number * PEAK) - Fraction(1, 2)) for number in range(1, 20)}
    nearest = found(*used, "--total", "50%", "--set", "N_tps=1000000", status=1)["nearest"]
    assert nearest["sizes"]["N_dev"] == min(shares, key=lambda number: shares[number]) == 6


def test_totals_are_expressions_over_quantities() -> None:
    """GPT-2 has 12LE² + 13LE + (V + P + 2)E parameters, and 24BSLE² + 4BS²LE + 2BSVE FLOPs."""

    def params(layers: int) -> int:
        return 12 * layers * 768**2 + 13 * layers * 768 + (50_257 + 1_024 + 2) * 768

    def flops(layers: int) -> int:
        return 24 * 9 * layers * 768**2 + 4 * 81 * layers * 768 + 2 * 9 * 50_257 * 768

    arguments = ("gpt2", "-q", "flops", "--find", "L=1:200:1", "--set", "B=1", "--set", "S=9")
    ratio = found(*arguments, "--per", "params", "--at-most", "17.9")
    best = max(layers for layers in range(1, 201) if 10 * flops(layers) <= 179 * params(layers))
    assert [each["sizes"] for each in ratio["solutions"]] == [{"L": best}]
    assert 1 < best < 200
    tokens = found("gpt2", "-q", "params", "--find", "L", "--at-most", "params(L=20) - 1")
    assert [each["sizes"] for each in tokens["solutions"]] == [{"L": 19}]
    cached = ("gpt2", "-q", "kv-cache", "--find", "C", "--set", "B=1")
    # 4·12·768 bytes per token: C <= 0.001·2·124,439,808/36,864 = 6.75
    share = found(*cached, "--at-most", "weight-memory", "--share", "0.1%", "--option", "weights=bf16")
    assert [each["sizes"] for each in share["solutions"]] == [{"C": 6}]
    assert share["solutions"][0]["value"] == 6 * 36_864


def test_a_size_is_defined_by_a_quantity() -> None:
    """Chinchilla's 20 tokens per parameter: 6ND is not exact, so a token costs PER_TOKEN FLOPs."""
    tokens = 20 * 124_439_808
    document = found("gpt2", "-q", "run-flops", "--find", "L", "--at-most", str(PER_TOKEN * tokens), "--where",
                     "N_tok = 20*params", "--set", "S=1024")  # fmt: skip
    assert document["solutions"][0]["sizes"] == {"L": 12, "N_tok": tokens}
    assert document["solutions"][0]["value"] == PER_TOKEN * tokens
    refused = run("gpt2", "--find", "L", "--total", "1e9", "--where", "E = params/1000")
    assert refused.exit_code == 2
    assert "E = params/1000 depends on E itself" in refused.stderr


def test_sizes_in_conditions_alone_exist() -> None:
    """Llama's parameters contain no C: 4·L·C·G·D = 4·3·C·2·6 bytes are at least 1,000 from C = 7 on."""
    given = ["--set", "E=24", "--set", "H=70", "--set", "V=50", "--set", "A=8", "--set", "G=2", "--set", "D=6"]
    document = found("llama", "--find", "L=3:3:1", *given, "--filter", "kv-cache(B=1) >= 1000")
    assert [each["sizes"] for each in document["solutions"]] == [{"L": 3, "C": 7}]
    assert document["free"] == ["C"]
    none = run("llama", "--find", "L=3:3:1", *given, "--filter", "kv-cache(B=1) >= 1000 and C <= 6")
    assert none.exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--find", "L", "--filter", "params <= 80GB"], "compares elements with bytes; write a number in elements"),
        (["--find", "L", "--filter", "params <= 7 GFLOPs"], "compares elements with FLOPs"),
        (["--find", "L", "--filter", "kv-cache <= 7B", "--at-most", "1e9"], "'7B' can be bytes or billions of bytes"),
        (["--find", "L", "--filter", "params + kv-cache <= 1e9"], "adds elements and bytes; compare quantities of one"),
        (["--find", "L", "--filter", "params(S=3) <= 1e9"], "S has no effect: gpt2.params does not depend on S"),
        (["--find", "L", "--filter", "params(L=3"], "has a bracket that is not closed"),
        (["--find", "L", "--filter", "kv-cache(C=2000, B=1) <= 1GB"], "P=1024 (learned positions) is less than C=2000"),
        (["--find", "L", "--filter", "kv-cache(C=L/2, B=1) <= 1GB"], "need not be an integer; write // for a floor"),
        (["--find", "L", "--filter", "flops(attention=casual) <= 1"], "did you mean causal?"),
        (["--find", "L", "--filter", "__import__('os') <= 1"], "is not plain arithmetic"),
        (["--find", "L", "--filter", "params <= 7e9 or L > 3"], "contains `or`, which is not supported"),
        (["--find", "L", "--filter", "kv-cache(nowhere) <= 1"], "unknown architecture or preset 'nowhere'"),
        (["--find", "L", "--filter", "params"], "'params' is not a condition"),
        (["--find", "L", "--filter", "parms <= 1"], "unknown symbol 'parms'"),
        (["--find", "L", "--filter", "params/0 <= 1"], "divides by zero"),
        (["--find", "L", "--filter", "params >= 1"], "L has no upper bound under these conditions"),
        (["--find", "L", "--at-most", "decode-flops", "--set", "B=1", "--set", "C=1"], "is in FLOPs, but it is"),
        (["--find", "L", "--total", "0%", "-q", "attention-share", "--set", "S=9"], "'0%' is out of range"),
        (["--find", "L", "--find", "E", "--find", "V", "--find", "P", "--at-most", "1e13", "--filter", "E >= 64"],
         "combinations that the conditions do not exclude"),
    ],
)  # fmt: skip
def test_invalid_conditions_are_refused_in_one_sentence(arguments: list[str], said: str) -> None:
    result = run("gpt2", *arguments)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1


def test_conditions_in_python() -> None:
    """GPT-2 with L layers: 7,087,872 parameters each, and 4·768·C·L bytes of cache."""
    solutions = sf.solve("gpt2", unknowns="L", filters=["kv-cache(C=512, B=1) <= 36MB", "L > 20"])
    # 1,572,864 bytes per layer: 36,000,000/1,572,864 = 22.9
    assert [dict(each.sizes) for each in solutions.all] == [{"L": 22}, {"L": 21}]
    assert solutions.to_json()["conditions"] == ["kv-cache(C=512, B=1) <= 36MB", "L > 20"]
    assert "off by" not in repr(solutions.to_blocks()[1])
