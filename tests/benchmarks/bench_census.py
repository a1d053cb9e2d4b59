"""What a trace takes, beside one build of the same model in the same process: only the ratio means anything.

Run with ``pytest tests/benchmarks/bench_census.py``; it traces every model type of transformers, which takes minutes.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic

from symformer.witness.census import LIMITS, USUAL_HEADS, census, pairs


def test_the_census(tmp_path: Path) -> None:
    begun = monotonic()
    found = census(pairs(USUAL_HEADS), os.cpu_count() or 1, LIMITS["params"], tmp_path / "census.jsonl")
    print(f"\ntrace: {found.ratio:.1f} times building the model once, the median of {len(found.traced)} (at most 30)")  # noqa: T201
    print(f"census: {monotonic() - begun:.0f} s on {os.cpu_count()} cores (at most 360 on 2)")  # noqa: T201
