"""Layer patterns: an answer for a config is correct for its kinds of layers at its own depth.

``python -m tests.layer_patterns`` samples hundreds of such configs; a few of them are compared with torch here.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers

from symformer.targets.resolution import model
from tests.layer_patterns import BATCH, LISTED, by_torch

RUN = {"B": 2, "C": 21}
TRACED = ("smollm3",)  # the command starts with the others


def _written(folder: Path, name: str) -> str:
    place = folder / "config.json"
    place.write_text(json.dumps(LISTED[name][0]))
    return str(place)


@pytest.mark.parametrize("name", LISTED)
def test_listed_cache_bytes_match_torch(name: str) -> None:
    fields, expected = LISTED[name]
    config = transformers.AutoConfig.for_model(**fields)
    classes = transformers.AutoModelForCausalLM
    with torch.no_grad():
        cache = classes.from_config(config).eval()(torch.full((2, 21), 7), use_cache=True).past_key_values
    held = sum(4 * each.numel() for layer in cache.layers for each in (layer.keys, layer.values))
    assert held == expected
    assert len({layer.keys.shape for layer in cache.layers}) == (1 if "8 layers" in name else 2)
    # the oracle of the command counts the same tensors on the meta device, in bf16
    theirs = by_torch(fields, 21)["kv-cache"]
    assert theirs * 2 * RUN["B"] == expected * BATCH


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TRACED)
def test_layer_period_longer_than_a_shallow_model_is_traced(name: str, tmp_path: Path) -> None:
    _, expected = LISTED[name]
    found = model(_written(tmp_path, name)).set(RUN)
    formula = found.formula("kv-cache", dtype="fp32")
    assert formula.value() == expected
    reading = found.provenance.for_quantity("kv-cache").reading
    assert reading is not None
    assert (reading.points, reading.at_config) == (3, "row by row")
    # the rows of the table sum to the whole, although both kinds of layers have rows with the same name
    assert sum(formula.row_total(row, found.with_sizes_for("kv-cache").known) for row in formula.rows) == expected
