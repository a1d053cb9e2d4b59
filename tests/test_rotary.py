"""Rotary positions in a config: numbers that transformers divides by must be positive."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

import symformer as sf
from symformer.configs.rotary import ROPE_NEEDS, ROPES, check_rotary
from symformer.language.errors import ConfigError, UnreadError

LLAMA3 = {
    **{"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "original_max_position_embeddings": 64,
}
ROTARY: dict[str, dict[str, Any]] = {
    "linear": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0},
    "dynamic": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0},
    "yarn": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 2.0, "original_max_position_embeddings": 64},
    "llama3": LLAMA3,
}
CASES = [(kind, field) for kind, fields in ROTARY.items() for field in fields if field != "rope_type"]


def frequencies(rotary: dict[str, Any]) -> torch.Tensor:
    """The frequencies that transformers computes for heads of 32."""
    config = LlamaConfig(hidden_size=64, num_attention_heads=2, max_position_embeddings=128)
    config.rope_parameters = rotary
    found, _ = ROPE_INIT_FUNCTIONS[rotary["rope_type"]](config, torch.device("cpu"), seq_len=256)
    return found


@pytest.mark.parametrize("kind", ROTARY)
def test_positive_numbers_are_accepted(kind: str) -> None:
    assert {*ROPE_NEEDS[kind]} < ROTARY[kind].keys()
    assert frequencies(ROTARY[kind]).isfinite().all()
    check_rotary("rope_parameters", ROTARY[kind], ROPES, partly=False)


@pytest.mark.parametrize("value", [0, 0.0, -1.0, True, "8", math.nan])
@pytest.mark.parametrize(("kind", "field"), CASES)
def test_values_that_are_not_positive_numbers_are_refused(kind: str, field: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"'rope_parameters.{field}' is .*; it should be a number above 0"):
        check_rotary("rope_parameters", {**ROTARY[kind], field: value}, ROPES, partly=False)


@pytest.mark.parametrize("field", ["factor", "low_freq_factor", "high_freq_factor"])
def test_transformers_divides_by_the_field(field: str, tmp_path: Path) -> None:
    rotary = {**LLAMA3, field: 0}
    with suppress(ZeroDivisionError):  # for Python's numbers; for tensors the quotient is infinite
        assert not frequencies(rotary).isfinite().all()
    place = tmp_path / "config.json"
    place.write_text(json.dumps({"model_type": "llama", "rope_parameters": rotary}))
    with pytest.raises(ConfigError, match=f"'rope_parameters.{field}' is 0 in the config"):
        sf.from_config(str(place))


@pytest.mark.parametrize(
    ("part", "partly", "taken"), [(1, False, True), (1.0, False, True), (None, False, True), (0.5, False, False)]
)
def test_unsupported_partial_rotary_factors_are_refused(part: float | None, partly: bool, taken: bool) -> None:
    """Partial rotary heads have fewer angles, which an architecture with full rotary heads does not support."""
    rotary = {**ROTARY["linear"], "partial_rotary_factor": part}
    if part is not None:
        assert len(frequencies(rotary)) == 32 * part / 2
    check_rotary("rope_parameters", rotary, ROPES, partly=True)
    if taken:
        check_rotary("rope_parameters", rotary, ROPES, partly=partly)
    else:
        with pytest.raises(
            UnreadError, match=r"has 'partial_rotary_factor' = 0\.5 in the config, which is not supported"
        ):
            check_rotary("rope_parameters", rotary, ROPES, partly=partly)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("rope_theta", 0, "'rope_theta' is 0 in the config; it should be a number above 0"),
        ("rope_scaling", 2.0, "it should be an object or null"),
        ("rope_scaling", {"type": "spiral"}, "has the type 'spiral' in the config, which is not supported"),
        ("rope_scaling", {"rope_type": 7}, "has the type 7 in the config, which is not supported"),
        ("rope_scaling", {"rope_type": "default", "twist": 3}, "has 'twist' = 3 in the config, which is not supported"),
    ],
)
def test_other_rotary_positions_are_refused(name: str, value: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check_rotary(name, value, ROPES, partly=False)


def test_missing_rotary_fields_have_their_defaults() -> None:
    check_rotary("rope_theta", 10_000, ROPES, partly=False)
    check_rotary("rope_scaling", None, ROPES, partly=False)
