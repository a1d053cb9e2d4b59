"""Configs per second on one core, compared with numpy by hand, numba and SymPy's lambdify.

Run with ``OMP_NUM_THREADS=1 pytest tests/benchmarks/bench_sweep.py``. The others check neither whether a product fits
64 bits nor whether sizes divide; ours does both and returns the same numbers. It must reach 100 million per second.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sympy import lambdify

import symformer as sf
from symformer.algebra.sweep import sweep

WIDTHS, DEPTHS, ROWS = np.arange(128, 12_801, 128), np.arange(1, 101), np.arange(1_000, 100_001, 100)
COUNT = len(WIDTHS) * len(DEPTHS) * len(ROWS)
RATES: dict[str, float] = {}
FORMULA = sf.model("gpt2").params.partial(P=1_024)


def rated(benchmark: Any, name: str, work: Callable[[], Any], count: int = COUNT) -> Any:
    found = benchmark.pedantic(work, rounds=5, warmup_rounds=1, iterations=1)
    RATES[name] = count / benchmark.stats.stats.median
    return found


def biggest_by_hand() -> int:
    """Evaluate 12LE² + 13LE + VE + PE + 2E slice by slice, and return the maximum."""
    most = 0
    for width in WIDTHS.tolist():
        layers = (12 * width * width + 13 * width) * DEPTHS[:, None]
        most = max(most, int((layers + (ROWS + 1_026) * width).max()))
    return most


EXPECTED = biggest_by_hand()


def test_numpy_by_hand(benchmark: Any) -> None:
    assert rated(benchmark, "numpy by hand, a slice at a time", biggest_by_hand) == EXPECTED


def test_lambdify(benchmark: Any) -> None:
    function = lambdify(FORMULA.symbols, FORMULA.expanded, "numpy")
    where = {"E": WIDTHS[:, None, None], "L": DEPTHS[:, None], "V": ROWS}
    given = [where[str(size)] for size in FORMULA.symbols]
    assert int(rated(benchmark, "lambdify, the whole grid in memory", lambda: function(*given)).max()) == EXPECTED


def test_numba(benchmark: Any) -> None:
    numba = pytest.importorskip("numba")

    @numba.njit
    def biggest(widths: Any, depths: Any, rows: Any) -> int:
        most = 0
        for e in widths:
            for n in depths:
                for v in rows:
                    most = max(most, 12 * n * e * e + 13 * n * e + v * e + 1_024 * e + 2 * e)
        return most

    assert rated(benchmark, "numba", lambda: biggest(WIDTHS, DEPTHS, ROWS)) == EXPECTED


def test_compiled(benchmark: Any) -> None:
    compiled = FORMULA.compile()

    def work() -> int:
        layers = {"L": DEPTHS[:, None], "V": ROWS, "A": 1}
        return max(int(compiled(E=width, **layers).max()) for width in WIDTHS.tolist())

    assert rated(benchmark, "formula.compile()", work) == EXPECTED


def test_sweep(benchmark: Any) -> None:
    over = {"E": WIDTHS.tolist(), "L": DEPTHS.tolist(), "V": "1000:100000:100"}

    def work() -> int:
        found = sweep("gpt2", over, sizes={"A": 1}, limit=1, sort_by="max:params")
        return int(found.table()["params"][0])

    assert rated(benchmark, "sweep, the largest of all (at least 100)", work) == EXPECTED
    assert RATES["sweep, the largest of all (at least 100)"] > 100e6


def test_a_thousand_million_configs(benchmark: Any) -> None:
    """Run in a separate process to measure its memory: less than 1 GB."""
    code = """
import resource
from symformer.algebra.sweep import sweep
over = {"V": "1000:100000:1000", "E": "128:12800:128", "L": "1:100:1", "H": "100:100000:100"}
found = sweep("llama-2-7b", over, limit=1, sort_by="max:params", filters=["params <= 7e9"])
print(found.rows.count, int(found.table()["params"][0]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

    def work() -> tuple[int, ...]:
        asked = [sys.executable, "-c", code]
        return tuple(map(int, subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()))

    start = time.perf_counter()
    count, params, memory = benchmark.pedantic(work, rounds=1, iterations=1)
    RATES[f"10^9 configs of Llama under a limit, in {memory // 1024} MB"] = count / (time.perf_counter() - start)
    assert (count, params) == (10**9, 7 * 10**9)
    assert memory < 1024 * 1024
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1024 * 1024


@pytest.fixture(scope="module", autouse=True)
def rates() -> Iterator[None]:
    yield
    for name, rate in sorted(RATES.items(), key=lambda each: -each[1]):
        print(f"\n{rate / 1e6:7.0f} million configs a second: {name}", end="")  # noqa: T201
