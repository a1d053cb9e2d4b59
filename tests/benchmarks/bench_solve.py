"""Benchmarks of ``solve`` and ``sweep`` with conditions that bound unknown sizes or determine free ones.

Run with ``OMP_NUM_THREADS=1 pytest tests/benchmarks/bench_solve.py``.
"""

from __future__ import annotations

from typing import Any

import pytest

import symformer as sf


@pytest.mark.parametrize("total", ["1e12", "1e18"])
def test_solve_two_sizes_with_a_shared_bound(benchmark: Any, total: str) -> None:
    """524,800 pairs of prompt and new tokens fit the 1,024 positions of GPT-2; this took minutes."""

    def nearest() -> Any:
        sizes = ["S", "N_new"]
        return sf.solve("gpt2", total, unknowns=sizes, quantity="generation-flops", sizes={"B": 1}).nearest

    assert benchmark(nearest) is not None


def test_sweep_a_million_widths_with_free_heads(benchmark: Any) -> None:
    """For each width, find the divisor closest to 12 as the number of heads."""
    assert len(benchmark(lambda: sf.sweep("gpt2", {"E": "1:1000000"}).table()["A"])) == 10**6


def test_sweep_inner_widths_of_mamba(benchmark: Any) -> None:
    """For each inner width, find the divisor closest to 768 as the width; this lists the divisors."""
    swept = benchmark.pedantic(
        lambda: sf.sweep("mamba-130m", {"H_ssm": "1:100000"}, "kv-cache", sizes={"B": 1}).table()
    )
    assert len(swept["E"]) == 10**5
