"""The inputs of recurrences in figures have the axes with which the classes of transformers call the recurrence."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
import torch
import transformers

from symformer.documents.figures.figure_builder import FigureBuilder
from symformer.language.symbols import B, S
from symformer.targets.resolution import resolve
from symformer.views.figure_facts import figure_facts

from .models import kimi_linear, mamba, mamba2, qwen3_next

BATCH, TOKENS = 2, 5


class CalledError(Exception):
    """Raised instead of the recurrence."""


CASES = [  # the function of the class, the inputs of the recurrence among its arguments, and their labels
    (mamba2, "layers.mixer", "mamba2_chunk_scan", {"u": 0, "δ": 1, "β": 3, "γ": 4}),
    (mamba, "layers.mixer", "mamba_selective_scan", {"u": 0, "δ": 1, "β": 3, "γ": 4}),
    (qwen3_next, "linear_layers.linear_attn", "torch_chunk_gated_delta_rule", {"q": 0, "k": 1, "v": 2}),
    (kimi_linear, "dense_layers.self_attn", "chunk_kimi_delta_attention", {"q": 0, "k": 1, "v": 2}),
]


@pytest.mark.parametrize(("case", "part", "function", "places"), CASES, ids=[each[0].MODEL.name for each in CASES])
def test_inputs_have_the_axes_of_the_class(
    case: Any, part: str, function: str, places: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = case.MODEL.config
    config = transformers.AutoConfig.for_model(small.model_type, **small.fields)
    found: dict[str, tuple[int, ...]] = {}

    def called(*inputs: torch.Tensor, **_: object) -> None:
        found.update({letter: tuple(inputs[place].shape) for letter, place in places.items()})
        raise CalledError

    network = getattr(transformers, small.classes[0])(config).eval()
    monkeypatch.setattr(import_module(type(network).__module__), function, called)
    with pytest.raises(CalledError), torch.no_grad():
        network(torch.zeros(BATCH, TOKENS, dtype=torch.long))
    model, _ = resolve({"model_type": small.model_type, **small.fields})
    facts = figure_facts(model, model.formula("params"))
    sizes = {**facts.subject.known, B: BATCH, S: TOKENS}
    drawn = {each.role: each for each in FigureBuilder(facts).part(part).graph.arrows if each.role in places}
    shown = {role: tuple(int(dim.xreplace(sizes)) for dim in each.shape or ()) for role, each in drawn.items()}
    assert shown == found
