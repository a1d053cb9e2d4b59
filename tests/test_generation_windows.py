"""Generation within windows, whose steps grow until the window is full, against the passes of torch classes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from sympy import Symbol

import symformer as sf
from symformer.architectures.base_architecture import Architecture
from symformer.language.sizes import AtMost, Divides
from symformer.language.symbols import B, C, C_chunk, C_win, K, N_new, P, S, X
from symformer.models.model import Model
from symformer.witness.sampling_plan import plan
from symformer.witness.torch_counts import TorchWitness, generation_flops

from .samples import sampled

NAMES = ("gpt-oss", "mistral", "gemma3", "cohere2", "llama4", "mimo-v2-flash", "exaone4", "gemma2", "olmo3")
WINDOW = 8
# Tokens of the prompt and new tokens: the window becomes full between two steps, before the first one, or never.
RUNS = ((3, 11), (7, 5), (8, 4), (13, 6), (2, 4))


def drawn(model: Model) -> dict[Symbol, int]:
    """Return sizes of the class that differ."""
    general = replace(model, relations={}, numbers={})
    component = general.component
    assert isinstance(component, Architecture)
    conditions = [each for each in general.constraints if isinstance(each, Divides | AtMost)]
    planned = plan(general, [general.formula("decode-flops")], (*conditions, *component.witness.conditions))
    return dict(planned.draw(random.Random(5), planned.places[0]))  # noqa: S311


@pytest.mark.parametrize("name", sampled(2, NAMES))
def test_steps_that_fill_a_window_are_counted(name: str) -> None:
    model = sf.architecture(name)
    component = model.component
    assert isinstance(component, Architecture)
    formula = replace(model, relations={}, numbers={}).formula("generation-flops")
    sizes = drawn(model)
    for prompt, new in RUNS:
        numbers = {**sizes, S: prompt, C: prompt, B: 3, P: 41}
        numbers |= {window: WINDOW for window in (C_win, C_chunk) if window in sizes}
        counted = generation_flops(TorchWitness(component, numbers), new).total
        assert counted > 0
        if component.witness.every_expert:  # the class computes all experts for each token
            numbers[K] = numbers[X]
        given = {str(size): number for size, number in {**numbers, N_new: new}.items() if size in formula.symbols}
        assert formula.value(**given) == counted, (prompt, new)
