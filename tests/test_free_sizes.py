"""Free sizes, which occur only in conditions and have no given value, take any value that the conditions allow."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.errors import SymformerError
from symformer.language.notation.text import code

from .samples import sampled

Point = dict[str, int]


def run(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, [*arguments, "--json"], prog_name="symformer")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@dataclass(frozen=True)
class Case:
    """A quantity of a model, the unknown sizes, and the sizes that only conditions contain."""

    target: str
    quantity: str
    open: dict[str, int]  # each from 1 up to this number
    free: dict[str, int]  # each with its value in the model
    given: dict[str, int]
    most: int  # in every row, free sizes up to this value suffice


# Any other size has no value, or a value that does not matter for the question.
CASES = [
    Case("gpt2", "params", {"E": 24, "L": 3}, {"A": 12}, {"V": 5, "P": 7}, 24),
    Case("falcon-rw-1b", "params", {"E": 24, "L": 2}, {"A": 32}, {"V": 5, "H": 10}, 24),
    Case("llama-2-7b", "kv-cache", {"G": 9, "L": 4}, {"A": 32}, {"D": 6, "B": 2, "C": 5}, 48),
    Case("gpt-j-6b", "params", {"E": 14, "L": 3}, {"A": 16, "D_rope": 64}, {"V": 5, "H": 11}, 14),
    Case("gpt2", "flops", {"S": 9, "E": 8}, {"A": 12, "P": 1024}, {"L": 2, "V": 5, "B": 3}, 12),
    Case("mamba-130m", "kv-cache", {"H_ssm": 20, "L": 3}, {"E": 768}, {"N_state": 4, "K_conv": 5, "B": 2}, 20),
    Case(
        "granite-3.0-2b",
        "activations",
        {"A": 12, "L": 2},
        {"G": 8},
        {"B": 1, "S": 3, "V": 5, "E": 4, "H": 6, "D": 14},
        12,
    ),
    Case("opt-350m", "kv-cache", {"E": 16, "L": 2}, {"E_emb": 512, "A": 16}, {"B": 2, "C": 3}, 17),
]


class Brute:
    """Brute force over all values of the unknown and the free sizes."""

    def __init__(self, case: Case) -> None:
        self.case = case
        names = {name: name for name in (*case.open, *case.free)}
        self.formula = sf.model(case.target).set({**case.given, **names}).formula(case.quantity)
        self.code = compile(code(self.formula.expanded), "formula", "eval")

    def admissible(self, point: Point) -> list[Point]:
        """Return all values of the free sizes that the formula accepts."""
        found = []
        for values in product(range(1, self.case.most + 1), repeat=len(self.case.free)):
            chosen = dict(zip(self.case.free, values, strict=True))
            try:
                self.formula.value({**self.case.given, **point, **chosen})
            except SymformerError:
                continue
            found.append(chosen)
        return found

    def value(self, point: Point) -> Any:
        calls = {"ceil": lambda x: -(-x // 1), "floor": lambda x: x // 1, "min": min, "max": max}
        return eval(self.code, {"__builtins__": {}}, {**calls, **self.case.given, **point})  # noqa: S307


@pytest.mark.parametrize(
    "place", sampled(3, range(len(CASES))), ids=lambda place: f"{CASES[place].target} {CASES[place].quantity}"
)
def test_a_row_is_kept_if_some_value_of_the_free_sizes_is_allowed(place: int) -> None:
    """Compare sweeps over random ranges, and solutions for random totals, with brute force."""
    case, brute = CASES[place], Brute(CASES[place])
    source = random.Random(place)  # noqa: S311
    admissible: dict[tuple[int, ...], list[Point]] = {}
    compared = refused = changed = 0
    for _ in range(25):
        ranges = {}
        for name, most in case.open.items():
            step = source.choice([1, 1, 2, 3])
            start = source.randint(1, max(1, most // 2))
            ranges[name] = range(start, most + 1, step)
        points = [dict(zip(ranges, values, strict=True)) for values in product(*ranges.values())]
        for point in points:
            key = tuple(point.values())
            if key not in admissible:
                admissible[key] = brute.admissible(point)
        stay = {tuple(point.values()): brute.value(point) for point in points if admissible[tuple(point.values())]}
        total = stay[source.choice(list(stay))] if stay else 1
        over = {name: list(values) for name, values in ranges.items()}
        table = sf.sweep(case.target, over, case.quantity, sizes=case.given).table()
        rows = [dict(zip(table, map(int, row), strict=True)) for row in zip(*table.values(), strict=True)]
        assert {tuple(row[name] for name in case.open): row[case.quantity] for row in rows} == stay
        asked = [f"{name}={','.join(map(str, values))}" for name, values in ranges.items()]
        found = sf.solve(case.target, total, unknowns=asked, quantity=case.quantity, sizes=case.given).all
        expected = {key for key, value in stay.items() if value == total}
        assert {tuple(each.sizes[name] for name in case.open) for each in found} == expected
        for row in [*rows, *(dict(each.sizes) for each in found)]:
            key = tuple(row[name] for name in case.open)
            chosen = {name: row[name] for name in case.free}
            changed += chosen != case.free
            closest(case, brute, dict(zip(case.open, key, strict=True)), admissible[key], chosen)
        compared += 1
        refused += len(points) - len(stay)
    assert compared == 25
    assert changed > 0
    assert refused > 0 or case.target in ALWAYS


def test_gpt2_medium_and_xl_are_found_with_other_numbers_of_heads() -> None:
    """Published sizes: 24 layers of width 1,024, and 48 of width 1,600, which is not a multiple of 12 heads."""
    found = run("solve", "gpt2", "--total", "354823168", "--find", "L", "--find", "E")
    assert {"L": 24, "E": 1024} in [{name: each["sizes"][name] for name in "LE"} for each in found["solutions"]]
    assert all(each["sizes"]["E"] % each["sizes"]["A"] == 0 for each in found["solutions"])
    assert found["free"] == ["A"]
    assert "A" not in found["given"]
    grid = ("--grid", "E=768,1024,1280,1600", "--grid", "L=12,24,36,48")
    swept = run("sweep", "gpt2", *grid)
    assert swept["columns"] == ["E", "L", "A", "params"]
    assert (len(swept["rows"]), swept["left_out"]) == (16, {})
    params = {(e, n): number for e, n, _, number in swept["rows"]}
    # as counted by transformers for gpt2, gpt2-medium, gpt2-large and gpt2-xl
    published = {(768, 12): 124_439_808, (1024, 24): 354_823_168, (1280, 36): 774_030_080, (1600, 48): 1_557_611_200}
    assert published.items() <= params.items()


def test_given_size_is_kept() -> None:
    """With 12 heads a width must be a multiple of 12: of the four widths, only 768 is."""
    swept = run("sweep", "gpt2", "--grid", "E=768,1024,1280,1600", "--set", "A=12")
    assert [row[0] for row in swept["rows"]] == [768]
    assert swept["free"] == []
    one = run("solve", "gpt2", "--total", "354823168", "--find", "L", "--set", "E=1024")
    assert one["solutions"][0]["sizes"] == {"L": 24}  # no size that shares a condition with A varies
    assert one["given"]["E"] % one["given"]["A"] == 0


def test_a_filter_on_a_free_size_acts_as_a_condition() -> None:
    """Heads of 64 elements each: 768, 1,024 and 1,600 allow it, with 12, 16 and 25 heads; 800 does not."""
    swept = run("sweep", "gpt2", "--grid", "E=768,800,1024,1600", "--filter", "E = 64*A")
    assert [row[:2] for row in swept["rows"]] == [[768, 12], [1024, 16], [1600, 25]]
    assert list(swept["left_out"].values()) == [1]
    few = run("sweep", "gpt2", "--grid", "E=768,1024", "--filter", "A >= 16", "--filter", "params <= 10000000*A")
    # 12·12·E² + 13·12·E + (50,257 + 1,024 + 2)·E is 124,439,808 and 203,668,480
    assert [row[:2] for row in few["rows"]] == [[768, 16], [1024, 32]]


def test_queries_over_run_sizes_keep_the_model_unchanged() -> None:
    """GPT-2 has 1,024 positions, which its FLOPs do not contain, and cannot run on more tokens."""
    swept = run("sweep", "gpt2", "-q", "flops", "--grid", "S=512,1024,2048", "--set", "B=1")
    assert [row[0] for row in swept["rows"]] == [512, 1024]
    wider = run("sweep", "gpt2", "-q", "flops", "--grid", "S=512,1024,2048", "--grid", "L=12,24", "--set", "B=1")
    assert {(row[0], row[2]) for row in wider["rows"]} == {(512, 1024), (1024, 1024), (2048, 2048)}


def test_a_million_rows_get_other_values() -> None:
    """A million widths all get a number of heads; one width in twelve keeps 12."""
    found = sf.sweep("gpt2", {"E": "1:1000000"})
    table = found.table()
    assert len(table["A"]) == 10**6
    assert not (table["E"] % table["A"]).any()
    assert (table["A"] == 12).sum() == 10**6 // 12


def test_the_closest_divisor_is_found_for_many_rows() -> None:
    """Mamba's inner width is a multiple of the model's width, 768. A prime is a multiple of 1 and itself only."""
    table = sf.sweep("mamba-130m", {"H_ssm": "2001:4001"}, "kv-cache", sizes={"B": 1}).table()
    assert len(table["E"]) == 2_001
    for width, chosen in zip(table["H_ssm"].tolist(), table["E"].tolist(), strict=True):
        divisors = [each for each in range(1, width + 1) if width % each == 0]
        assert abs(chosen - 768) == min(abs(each - 768) for each in divisors), width


ALWAYS = ("gpt2", "llama-2-7b", "mamba-130m", "opt-350m")  # models with a value for every row


def closest(case: Case, brute: Brute, point: Point, admissible: list[Point], chosen: Point) -> None:
    """The model's own values are kept if possible; a single free size is as close to its value as possible."""
    own = bool(brute.formula.constraints) and accepted(brute, {**point, **case.free})
    assert accepted(brute, {**point, **chosen}), (point, chosen)
    assert not own or chosen == case.free, (point, chosen)
    if len(case.free) == 1 and not own:
        ((name, preferred),) = case.free.items()
        away = min(abs(each[name] - preferred) for each in admissible)
        assert abs(chosen[name] - preferred) == away, (point, chosen)


def accepted(brute: Brute, point: Point) -> bool:
    try:
        brute.formula.value({**brute.case.given, **point})
    except SymformerError:
        return False
    return True
