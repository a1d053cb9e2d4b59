"""`solve` without NumPy: the solutions of brute force, and the same text and JSON as with NumPy."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any

import numpy
import pytest
from click.testing import CliRunner

from symformer.algebra import plain_arrays
from symformer.algebra.grid import length
from symformer.algebra.plain_arrays import PlainArray
from symformer.commands.cli import cli

ALONE = """
import json, sys
sys.modules["numpy"] = None  # importing it now fails
from click.testing import CliRunner
from symformer.algebra import solve
from symformer.commands.cli import cli
answers = []
for asked in json.load(sys.stdin):
    if asked[0] == "sweep":  # the refused searches follow
        solve.UNITS //= 100
    ran = CliRunner().invoke(cli, asked, prog_name="symformer")
    answers.append([ran.exit_code, ran.stdout, ran.stderr])
print(json.dumps(answers))
"""
LLAMA = "--set L=3 --set V=100 --set E=24 --set H=50 --set D=6"
QUESTIONS = {
    "one size": "gpt2 --find L --total 124439808",
    "two sizes": "gpt2 --find L --find E --total 1557611200",
    "three sizes": "gpt2 --find L=1:12:1 --find E=64:512:64 --find V=100:1000:100 --total 1e7 --tolerance 3%",
    "tolerance": "llama --total 7e9 --tolerance 1% --find L --find E=2048:8192:64 --set V=32000 --set D=64"
    " --where A=E/64 --where G=A --where H=4*E",
    "limit": "gpt2 --find L --find E=100:1600:100 --at-most 1.5e9",
    "conditions": f"llama --find A=1:24:1 --find G=1:24:1 --total 37000 --tolerance 4% {LLAMA}",
    "list": f"llama --find A=2,3,12,20 --find G --at-most 40000 {LLAMA}",
    "quotient": "falcon-7b --find A=1:142:1 --total 7e9 --tolerance 1%",
    "experts": "mixtral-8x7b -q active-params --at-most 50e9 --find K",
    "beyond 64 bits": "gpt2 --find L --total 860000000000009300000000000000 --set A=5 --set E=100000000000000"
    " --set V=100000000000000 --set P=100000000000000",
    "nearest": "llama-2-7b --total 6738415617 --find L",
    "nearest of two": "gpt2 --total 1 --find L --find E --set A=12",
    "far": "gpt2 --total 1e30 --find L=1:10:1",
    "nearest ratio": "gpt2 -q attention-share --total 50% --find S --set P=9000",
    "two conditions": "llama-2-7b -q inference-memory --find L --find C=2048:8192:512 --at-most 16GB --set B=1"
    " --filter decode-flops>=8e9 --filter params<=4e9",
    "sum of sizes": "gpt2 -q generation-flops --find S=1:64:1 --find N_new=1:64:1 --total 1e10 --tolerance 1% --set B=1"
    " --filter kv-cache(C=S)<=1MB",
    "memory": "llama-3.1-8b -q inference-memory --at-most 24GiB --share 90% --find C --set B=8",
}
# With 100 times less work than usual, so that the test is fast.
REFUSED = {
    "gpt2 --find L --find E --find V --total 7e12": "the sizes E, L have more than 30,000 combinations within the "
    "limit, too many without numpy; give ranges, as in --find L=64:16384:64, or solve for fewer sizes",
    "gpt2 --find V --find P --total 124439808": "P has more than 30,000 values within the limit, too many without "
    "numpy; give ranges, as in --find P=64:16384:64, or solve for fewer sizes",
    "gpt2 --find L --find E=12:16800:12 --total 1.5e9 --tolerance 10%": "there may be too many solutions to find "
    "without numpy; give shorter ranges, or solve for fewer sizes",
    "gpt2 -q flops --find S=1:1024:1 --find B --find L=1:20:1 --total 1e15": "there is no solution, and the search for "
    "the nearest one is too large without numpy; give each size a range",
}


@pytest.fixture(scope="module")
def alone() -> dict[str, list[Any]]:
    """The exit status, the output and the errors of each command line without NumPy."""
    asked = [["solve", *each.split()] for each in QUESTIONS.values()]
    asked += [[*each, "--json"] for each in asked]
    asked += [["sweep", "gpt2", "--grid", "L=1:9"], *(["solve", *each.split()] for each in REFUSED)]
    ran = subprocess.run(
        [sys.executable, "-c", ALONE], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    return {" ".join(words[1:]): answer for words, answer in zip(asked, json.loads(ran.stdout), strict=True)}


def solutions(alone: dict[str, list[Any]], name: str) -> list[dict[str, int]]:
    document = json.loads(alone[QUESTIONS[name] + " --json"][1])
    assert document["count"] == len(document["solutions"])
    return [each["sizes"] for each in document["solutions"]]


@pytest.mark.parametrize("name", QUESTIONS)
def test_text_and_json_are_the_same_with_numpy(alone: dict[str, list[Any]], name: str) -> None:
    for words in (QUESTIONS[name], QUESTIONS[name] + " --json"):
        ran = CliRunner().invoke(cli, ["solve", *words.split()], prog_name="symformer")
        assert alone[words] == [ran.exit_code, ran.stdout, ran.stderr]
        assert ran.exit_code == (name.startswith(("nearest", "far")))


def test_solutions_for_one_and_two_sizes(alone: dict[str, list[Any]]) -> None:
    """GPT-2 has 12LE² + 13LE + (V + P + 2)E, so E divides the total. A is 12 or the divisor of E closest to it."""
    assert solutions(alone, "one size") == [{"L": 12}]
    total, expected = 1_557_611_200, []
    for e in range(1, 20_000):
        layers, rest = divmod(total // e - 50_257 - 1_024 - 2, 12 * e + 13)
        if total % e == rest == 0 and layers > 0:
            heads = min((a for a in range(1, e + 1) if e % a == 0), key=lambda a: (abs(a - 12), -a))
            expected.append({"L": layers, "E": e, "A": heads})
    found = solutions(alone, "two sizes")
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert {"L": 48, "E": 1_600, "A": 10} in found


def test_solutions_for_three_sizes(alone: dict[str, list[Any]]) -> None:
    expected = {
        (n, e, v)
        for n in range(1, 13)
        for e in range(64, 513, 64)
        for v in range(100, 1001, 100)
        if abs(12 * n * e * e + 13 * n * e + (v + 1_026) * e - 10**7) <= 3 * 10**5
    }
    assert len(expected) > 5
    assert {(each["L"], each["E"], each["V"]) for each in solutions(alone, "three sizes")} == expected


def test_solutions_with_a_tolerance_and_a_limit(alone: dict[str, list[Any]]) -> None:
    # 16LE² + 2LE + 64,001E with A·D = E and H = 4E
    widths, layers = range(2048, 8193, 64), range(1, 200)
    total = {(n, e): 16 * n * e * e + 2 * n * e + 64_001 * e for e in widths for n in layers}
    expected = {point for point, value in total.items() if abs(value - 7 * 10**9) <= 7 * 10**7}
    assert {(each["L"], each["E"]) for each in solutions(alone, "tolerance")} == expected
    most = {e: (1_500_000_000 // e - 51_283) // (12 * e + 13) for e in range(100, 1601, 100)}
    assert {each["E"]: each["L"] for each in solutions(alone, "limit")} == most


def test_solutions_satisfy_conditions(alone: dict[str, list[Any]]) -> None:
    """Llama with L=3, V=100, E=24, H=50, D=6: 3(288A + 288G + 3,600 + 48) + 4,800 + 24, where G divides A."""
    value = {(a, g): 3 * (288 * a + 288 * g + 3_648) + 4_824 for a in range(1, 25) for g in range(1, 25) if a % g == 0}
    expected = {point for point, each in value.items() if abs(each - 37_000) <= 37_000 * 4 // 100}
    assert {(each["A"], each["G"]) for each in solutions(alone, "conditions")} == expected
    fitting = [point for point, each in value.items() if each <= 40_000 and point[0] in (2, 3, 12, 20)]
    largest = {g: max(a for a, other in fitting if other == g) for _, g in fitting}
    assert {each["G"]: each["A"] for each in solutions(alone, "list")} == largest
    assert all(4_544 % (2 * each["A"]) == 0 for each in solutions(alone, "quotient"))  # 2A divides E = 4544
    assert solutions(alone, "experts") == [{"K": 8}]  # K <= X = 8


def test_solutions_beyond_64_bits_and_nearest_ones(alone: dict[str, list[Any]]) -> None:
    """With V = E = P = X = 10^14, GPT-2 has 12LX² + 13LX + 2X² + 2X = 86·10^28 + 93·10^14 for L = 7."""
    assert solutions(alone, "beyond 64 bits") == [{"L": 7}]
    assert alone[QUESTIONS["nearest"]][1].endswith("\nno solution; the nearest is L = 32: 6,738,415,616 (-1)\n")
    # the smallest GPT-2 with 12 heads: 12*144 + 13*12 + (50,257 + 1,024 + 2)*12 = 617,280
    assert alone[QUESTIONS["nearest of two"]][1].endswith("nearest is L = 1, E = 12: 617,280 (+617,279)\n")
    assert ": 110,264,064 (-999,999,999,999,999,999,999,889,735,936)" in alone[QUESTIONS["far"]][1]


@pytest.mark.parametrize("words", REFUSED)
def test_searches_that_take_too_long_are_refused(alone: dict[str, list[Any]], words: str) -> None:
    assert alone[words] == [2, "", f"symformer: {REFUSED[words]}\n"]


def test_sweeps_need_numpy(alone: dict[str, list[Any]]) -> None:
    said = "symformer: this needs numpy; run pip install numpy, or pip install symformer[sweep]\n"
    assert alone["gpt2 --grid L=1:9"] == [2, "", said]


def test_plain_arrays_compute_the_same_as_numpy() -> None:
    """Operators, methods and functions with random arrays, numbers and masks."""
    source = random.Random(7)  # noqa: S311
    for count in (0, 1, 2, 50):
        numbers = [[source.randint(-20, 20) for _ in range(count)] for _ in range(2)]
        below = [each or 3 for each in numbers[1]]
        counts = [abs(each) % 4 for each in numbers[0]]
        places = [source.randrange(count) for _ in range(count)]

        def results(xp: Any) -> list[Any]:
            a, b = (xp.array(each, xp.int64) for each in numbers)  # noqa: B023
            divisor, often, index = (xp.array(each, xp.int64) for each in (below, counts, places))  # noqa: B023
            mask, one = a > b, xp.array([4], xp.int64)
            changed, other = a.copy(), a.copy()
            changed[mask], other[index] = b[mask], 5
            return [
                *(
                    a + b,
                    a - 3,
                    3 - a,
                    a * b,
                    a // divisor,
                    7 // divisor,
                    a % divisor,
                    7 % divisor,
                    -a,
                    abs(a),
                    a + one,
                ),
                *(a == b, a != 2, a < b, a <= 2, a >= b, a > 7, mask & (b > 2), mask | (b > 2), ~mask, changed, other),
                *(a[mask], a[index], a[1:], a.copy(), mask.astype(bool), a.nonzero()[0], xp.flatnonzero(mask)),
                *(xp.where(mask, a, 1), xp.where(mask, 1, b), xp.minimum(a, b), xp.maximum(2, a), xp.clip(a, -3, 4)),
                *(xp.gcd(a, b), xp.repeat(a, often), xp.cumsum(a), xp.arange(5), xp.zeros_like(a), xp.atleast_1d(a)),
                *(xp.full(3, 8), xp.ones(2, bool), xp.zeros(2, bool), xp.ones(2, int), xp.broadcast_to(one, (3,))),
                *(xp.array(sorted(numbers[0])).searchsorted(b), a.tolist(), mask.tolist(), list(a.shape)),  # noqa: B023
                xp.array(sorted(numbers[0])).searchsorted(b, side="right"),  # noqa: B023
                *([int(a.sum()), int(a.max(initial=0)), bool(mask.any()), bool(mask.all()), a.size, len(a)]),
                *([int(a.min()), int(a.max()), int(a.argmin()), int(a[0])] if len(a) else []),
            ]

        for place, (mine, yours) in enumerate(zip(results(plain_arrays), results(numpy), strict=True)):
            assert (mine.tolist() if isinstance(mine, PlainArray) else mine) == (
                yours.tolist() if isinstance(yours, numpy.ndarray) else yours
            ), (place, numbers)


def test_arrays_of_different_lengths_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match="does not broadcast"):
        PlainArray([1, 2]) + PlainArray([1, 2, 3])


def test_ranges_may_be_longer_than_an_index() -> None:
    """``len`` of a range fails beyond the largest index, which in WebAssembly is 2^31 - 1."""
    assert length(range(1, 2**70)) == 2**70 - 1
    assert length(range(3, 20, 4)) == len(range(3, 20, 4)) == 5
    assert length(range(3, 19, 4)) == length((1, 2, 3, 4)) == 4
    assert length(range(3, 3)) == 0
