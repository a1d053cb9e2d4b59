"""The lengths at which a trace runs a model: short ones for code with a loop over tokens, so that a trace ends."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from symformer.witness.measured_points import Points
from symformer.witness.run_traces import CHUNK_LOOPED, FEW, LOOPED, PAST, RUNS, SHORT, Runner

CHUNK = 64  # tokens


class Mixer(nn.Module):
    """A model that sums tokens one by one, in chunks, or all at once."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step
        self.out = nn.Linear(5, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros_like(x[:, 0])
        for first in range(0, x.shape[1], self.step):
            state = state + x[:, first : first + self.step].sum(1)
        return self.out(state)


def lengths(step: int, quantity: str, **start: int) -> tuple[tuple[int, ...], ...]:
    def call(model: nn.Module, point: Any) -> Any:
        return model(torch.zeros(point["B"], point["C" if RUNS[quantity].cache else "S"], 5, device="meta"))

    points = Points(lambda point: Mixer(step), call)
    takes = ("B", "C" if RUNS[quantity].cache else "S")
    runner = Runner(lambda point: Mixer(step), start, lambda run: call, lambda run: takes, lambda names: {})
    return runner.lengths(RUNS[quantity], points)


def test_code_with_a_loop_over_tokens_runs_on_few_tokens() -> None:
    assert lengths(1, "flops") == (FEW,)
    assert lengths(1, "kv-cache") == (LOOPED, SHORT)


def test_code_with_a_loop_over_chunks_runs_on_fewer_tokens_with_a_cache() -> None:
    assert lengths(CHUNK, "flops") == RUNS["flops"].lengths
    assert lengths(CHUNK, "kv-cache") == (CHUNK_LOOPED, SHORT)


def test_a_window_needs_lengths_on_both_sides_of_it() -> None:
    assert lengths(1, "kv-cache", sliding_window=4096) == (PAST, SHORT)


def test_code_without_a_loop_runs_on_all_lengths() -> None:
    assert lengths(10**6, "kv-cache") == (PAST, SHORT)
    assert lengths(10**6, "flops") == RUNS["flops"].lengths
