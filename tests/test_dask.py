"""The Dask example with several workers prints the same numbers as Python's integers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent / "examples" / "dask_sweep.py"


@pytest.mark.exhaustive
def test_dask_example_matches_python_integers() -> None:
    asked = [sys.executable, str(EXAMPLE), "--workers", "2", "--widths", "60", "--depths", "70", "--hidden", "40"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=120)
    # Llama with V = 32,000, A = G = 32, D = 128: L(4·E·A·D + 3EH + 2E) + 2VE + E, at E = 128e, H = 64h
    every = [
        layers * (4 * e * 4_096 + 3 * e * h + 2 * e) + 2 * 32_000 * e + e
        for e in range(128, 128 * 60 + 1, 128)
        for layers in range(1, 71)
        for h in range(64, 64 * 40 + 1, 64)
    ]
    fitting = [number for number in every if number <= 7 * 10**9]
    assert 0 < len(fitting) < len(every) == 168_000
    assert found.stdout == (
        f"168,000 configs on 2 workers, in int64: {len(fitting):,} have at most 7,000,000,000 parameters,\n"
        f"the largest of them {max(fitting):,}\n"
    )
