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
    kind = source.randrange(6)
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


@pytest.mark.parametrize("group", sampled(2, range(10)))
def test_constrained_solutions_equal_brute_force(group: int) -> None:
    """300 random problems of two to four unknown sizes with two conditions on quantities."""
    counts = [compared(seed)[0] for seed in range(group, 300, 10)]
    assert len(counts) == 30
    assert sum(1 for each in counts if each > 1) >= 5
