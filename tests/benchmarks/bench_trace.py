"""Time of all quantities of a trace, relative to its parameters alone in the same process.

Only these ratios are meaningful. Run with ``pytest -s tests/benchmarks/bench_trace.py``. A build constructs a model; a
run executes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from time import process_time
from typing import Any

import pytest

from symformer.catalogue.measured_model import TOGETHER
from symformer.language.errors import SymformerError
from symformer.witness import torch_session, trace
from symformer.witness.torch_session import Session
from symformer.witness.trace_result import Trace

TYPES = ("mistral", "bert", "t5", "mixtral", "gpt2")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return the numbers of builds and runs."""
    found: Counter[str] = Counter()

    def counting(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            found[what] += 1
            return function(*args, **kwargs)

        return counted

    monkeypatch.setattr(torch_session, "built", counting("builds", torch_session.built))
    for name in ("run", "kept"):
        monkeypatch.setattr(Session, name, counting("runs", getattr(Session, name)))
    return found


@pytest.mark.parametrize("model_type", TYPES)
def test_all_quantities_beside_the_parameters(model_type: str, made: Counter[str]) -> None:
    trace(f"hf:{model_type}")  # imports, and facts that torch computes once
    found: Trace | None = None
    seconds: dict[str, float] = {}
    for quantity in TOGETHER:
        made.clear()
        begun = process_time()
        try:
            found = trace(f"hf:{model_type}") if found is None else found
            found.for_quantity(quantity)
        except SymformerError as error:
            print(f"\n{model_type}: {error}", end="")  # noqa: T201
        seconds[quantity] = process_time() - begun
        times = seconds[quantity] / seconds["params"]
        print(f"\n{model_type} {quantity}: {made['builds']} builds, {made['runs']} runs, {times:.1f}", end="")  # noqa: T201
    times = sum(seconds.values()) / seconds["params"]
    print(f"\n{model_type}: all quantities take {times:.1f} times what its parameters take")  # noqa: T201
