"""The pipeline bubble: simulated schedules, pass by pass, and the supported models."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

import symformer as sf
from symformer.language.errors import RuleError, SizeError, UnknownNameError

Pass = tuple[str, int, int]  # "F" or "B", the index of the stage, the micro-batch
FORWARD, BACKWARD = 3, 5  # the time of one pass of one stage


def gpipe(rank: int, ranks: int, micro: int, stages: int) -> list[Pass]:
    """Return all forward passes, then all backward passes."""
    return [("F", rank, m) for m in range(micro)] + [("B", rank, m) for m in range(micro)]


def one_f_one_b(rank: int, ranks: int, micro: int, stages: int) -> list[Pass]:
    """Return as many forward passes as there are later stages, then alternate."""
    first = min(ranks - rank - 1, micro)
    found: list[Pass] = [("F", rank, m) for m in range(first)]
    for m in range(micro - first):
        found += [("F", rank, first + m), ("B", rank, m)]
    return found + [("B", rank, m) for m in range(micro - first, micro)]


def interleaved(rank: int, ranks: int, micro: int, stages: int) -> list[Pass]:
    """Megatron-LM's schedules.py, forward_backward_pipelining_with_interleaving.

    Each stage of a rank processes as many micro-batches as there are ranks; 2·(ranks - rank - 1) + (stages - 1)·ranks
    passes come before the first backward pass.
    """

    def forward(k: int) -> Pass:
        group, within = divmod(k, ranks * stages)
        return ("F", (within // ranks) * ranks + rank, group * ranks + within % ranks)

    def backward(k: int) -> Pass:
        group, within = divmod(k, ranks * stages)
        return ("B", (stages - 1 - within // ranks) * ranks + rank, group * ranks + within % ranks)

    every = micro * stages
    first = every if micro == ranks else min(2 * (ranks - rank - 1) + (stages - 1) * ranks, every)
    found = [forward(k) for k in range(first)]
    for k in range(every - first):
        found += [forward(first + k), backward(k)]
    return found + [backward(k) for k in range(every - first, every)]


def played(schedule: Callable[[int, int, int, int], list[Pass]], ranks: int, micro: int, stages: int) -> int:
    """Return the time of a step: each rank runs its passes in order, as soon as their inputs exist."""
    last = ranks * stages - 1
    orders = [schedule(rank, ranks, micro, stages) for rank in range(ranks)]
    done: dict[Pass, int] = {}
    free, at = [0] * ranks, [0] * ranks
    while any(place < len(order) for place, order in zip(at, orders, strict=True)):
        moved = False
        for rank, order in enumerate(orders):
            while at[rank] < len(order):
                what, stage, m = order[at[rank]]
                needs = [("F", stage - 1, m)] * (what == "F" and stage > 0)
                needs += [("F", stage, m)] * (what == "B") + [("B", stage + 1, m)] * (what == "B" and stage < last)
                if not all(each in done for each in needs):
                    break
                start = max([free[rank], *(done[each] for each in needs)])
                free[rank] = done[what, stage, m] = start + (FORWARD if what == "F" else BACKWARD)
                at[rank] += 1
                moved = True
        assert moved, "the schedule waits for itself"
    return max(free)


PLAYED = {
    "gpipe": (gpipe, [(4, 7, 1), (3, 3, 1), (8, 12, 1), (1, 5, 1), (5, 2, 1)]),
    "1f1b": (one_f_one_b, [(4, 7, 1), (3, 3, 1), (8, 12, 1), (1, 5, 1)]),
    "interleaved": (interleaved, [(4, 8, 2), (3, 9, 2), (2, 6, 3), (4, 12, 3)]),
}


@pytest.mark.parametrize("schedule", PLAYED)
def test_bubble_equals_the_simulated_schedules(schedule: str) -> None:
    """A rank processes all micro-batches in all of its stages, and is idle for the rest of the step."""
    play, cases = PLAYED[schedule]
    model = sf.architecture("llama").set({"L": 1440})
    for ranks, micro, stages in cases:
        time = played(play, ranks, micro, stages)
        work = micro * stages * (FORWARD + BACKWARD)
        sizes = {"N_pp": ranks, "N_micro": micro, **({"N_virt": stages} if schedule == "interleaved" else {})}
        assert model.formula("pipeline-bubble", schedule=schedule).value(**sizes) == Fraction(time - work, work)
        over = model.formula("pipeline-bubble", schedule=schedule, over="step")
        assert over.value(**sizes) == Fraction(time - work, time)


def test_bubble_matches_narayanan_et_al() -> None:
    """Narayanan et al. 2021, section 2.2: (p - 1)/m, and (p - 1)/m divided by v."""
    model = sf.architecture("gpt2")
    assert model.formula("pipeline-bubble").equals("(N_pp - 1)/N_micro")
    assert model.formula("pipeline-bubble", schedule="interleaved").equals("(N_pp - 1)/(N_virt*N_micro)")


def test_the_number_of_layers_must_be_a_multiple_of_the_stages() -> None:
    model = sf.architecture("llama-2-70b")  # of 80 layers
    assert model.formula("pipeline-bubble").value(N_pp=8, N_micro=32) == Fraction(7, 32)
    with pytest.raises(SizeError, match="L=80 is not a multiple of N_pp=7"):
        model.formula("pipeline-bubble").value(N_pp=7, N_micro=32)
    woven = model.formula("pipeline-bubble", schedule="interleaved")
    with pytest.raises(
        SizeError, match=r"L=80 is not a multiple of .*=24 .*; all stages need the same number of layers"
    ):
        woven.value(N_pp=8, N_micro=32, N_virt=3)
    with pytest.raises(SizeError, match=r"N_micro=30 is not a multiple of N_pp=8 .*micro-batches in groups of N_pp"):
        woven.value(N_pp=8, N_micro=30, N_virt=5)
    with pytest.raises(SizeError, match="has no size N_virt"):
        model.formula("pipeline-bubble").value(N_pp=8, N_micro=32, N_virt=5)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("t5", "T5 has 2 stacks of repeated layers; pipeline stages support one stack only"),
        ("deepseek-v3", "DeepSeek-V3 has layers of 2 kinds"),
        ("hf:bloom", "a traced model cannot be divided into pipeline stages"),
    ],
)
def test_models_without_known_stages_are_refused(target: str, said: str) -> None:
    with pytest.raises(RuleError, match=said):
        sf.model(target).formula("pipeline-bubble")
    with pytest.raises(RuleError, match="0 stacks of repeated layers"):
        sf.component("mlp").formula("pipeline-bubble")


def test_the_bubble_describes_all_stages_together() -> None:
    with pytest.raises(RuleError, match="describes all stages together, not one rank; remove pipeline=first"):
        sf.architecture("gpt2").formula("pipeline-bubble", pipeline="first")
    with pytest.raises(UnknownNameError, match="unknown convention 'attention' of pipeline-bubble"):
        sf.architecture("gpt2").formula("pipeline-bubble", attention="causal")
    assert (
        sf.explain(sf.architecture("llama-2-70b").set({"N_pp": 8, "N_micro": 32}), "21.9 %", "pipeline-bubble").verdict
        == "rounded"
    )
