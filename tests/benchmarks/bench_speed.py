"""Benchmarks of common tasks, relative to the time of ``import sympy`` in the same run.

Only these ratios are meaningful. Run with ``pytest tests/benchmarks/bench_speed.py``; the limits are the project's own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from symformer.architectures.gpt2 import GPT2

MEDIANS: dict[str, float] = {}
SYMFORMER = which("symformer", path=str(Path(sys.executable).parent)) or "symformer"


def cold(benchmark: Any, name: str, *command: str) -> None:
    benchmark.pedantic(
        lambda: subprocess.run(command, check=True, capture_output=True), rounds=11, warmup_rounds=2, iterations=1
    )
    MEDIANS[name] = benchmark.stats.stats.median


def test_cold_import_sympy(benchmark: Any) -> None:
    cold(benchmark, "import sympy", sys.executable, "-c", "import sympy")


def test_cold_show(benchmark: Any) -> None:
    cold(benchmark, "show gpt2 --json (at most 1.5)", SYMFORMER, "show", "gpt2", "--json")


def test_cold_derive(benchmark: Any, tmp_path: Path) -> None:
    cold(benchmark, "derive gpt2 to PDF (at most 3)", SYMFORMER, "derive", "gpt2", "-o", str(tmp_path / "x.pdf"))


def test_cold_derive_ten(benchmark: Any, tmp_path: Path) -> None:
    ten = (
        "gpt2",
        "llama-2-7b",
        "t5",
        "bert-base-uncased",
        "mamba-2.8b",
        "mixtral-8x7b",
        "deepseek-v3",
        "vit",
        "whisper",
    )
    cold(benchmark, "derive ten to PDFs (at most 18)", SYMFORMER, "derive", *ten, "qwen3-8b", "-o", f"{tmp_path}/")


def test_warm_build_and_simplify(benchmark: Any) -> None:
    """Derive the polynomial of GPT-2 with empty caches, in a process that has done it once."""
    assert repr(benchmark(lambda: GPT2().params)) == "12*L*E**2 + 13*L*E + V*E + P*E + 2*E"
    MEDIANS["warm"] = benchmark.stats.stats.median


@pytest.fixture(scope="module", autouse=True)
def ratios() -> Iterator[None]:
    yield
    base = MEDIANS.get("import sympy")
    for name, median in MEDIANS.items():
        if name == "warm":
            print(f"\nwarm: build GPT-2 and simplify: {median * 1000:.2f} ms (at most 10)")  # noqa: T201
        elif base:
            print(f"\n{name}: {median / base:.2f} times import sympy")  # noqa: T201
