"""Composite quantities equal the sum of their parts, and two contradicting readings are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sympy import Expr, Integer, Min

import symformer as sf
from symformer.architectures import names
from symformer.catalogue import config_match, disk_cache
from symformer.catalogue.agreement import check_agreement
from symformer.catalogue.measured_model import MeasuredModel
from symformer.catalogue.record import OPERATIONS, Record
from symformer.language.errors import RuleError, WitnessError
from symformer.language.symbols import B, C, C_chunk, C_win, D, G, L, N_new, S, V
from symformer.models.model import Model
from symformer.targets import code_answers

from .samples import sampled

CONFIG = {"model_type": "exaone4", "architectures": ["Exaone4ForCausalLM"]}
# A cache in which every layer keeps all tokens: three of four layers of EXAONE 4 have a window of 4,096.
WHOLE = {("layers.*.keys", (B, G, C, D)): (L,), ("layers.*.values", (B, G, C, D)): (L,)}


def _records(counts: Mapping[Any, Any]) -> dict[str, Record]:
    known = config_match.find(CONFIG)
    assert known is not None
    operations = known(OPERATIONS)
    assert "kv-cache" in operations.operations.confirmed
    cache = MeasuredModel(title="EXAONE 4", stem="exaone4", counts=counts, quantity="kv-cache")
    return {OPERATIONS: operations, "kv-cache": replace(operations, lifted=None, traced=cache)}


@pytest.mark.parametrize("asked", [OPERATIONS, "kv-cache"])
def test_contradicting_readings_are_refused(asked: str) -> None:
    with pytest.raises(WitnessError, match=r"contradict each other.*C=40,009, its kv-cache is ") as raised:
        check_agreement("z.json", _records(WHOLE), asked)
    # 2 bytes * 2 (keys, values) * B=2 * 32 heads of 128 is 32,768 for a token of a layer: 32 layers of 40,009 tokens,
    # against 24 of 4,095 and 8 of 40,009
    assert f"{32_768 * 32 * 40_009:,}" in str(raised.value)
    assert f"{32_768 * (24 * 4_095 + 8 * 40_009):,}" in str(raised.value)


def test_a_reading_is_compared_with_cached_readings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk_cache.VARIABLE, str(tmp_path / "cache"))
    place = tmp_path / "config.json"
    place.write_text(json.dumps(CONFIG))
    records = _records(WHOLE)
    disk_cache.Store(CONFIG).keep(OPERATIONS, records[OPERATIONS])
    disk_cache.Store(CONFIG).keep("kv-cache", records["kv-cache"])
    find = code_answers._found(str(place), CONFIG, None, trace=False)
    with pytest.raises(WitnessError, match="contradict each other"):
        find("kv-cache")


def _expanded(model: Model, quantity: str, **conventions: str) -> Expr | None:
    """Return a formula, or None if the model does not support these conventions."""
    try:
        return model.formula(quantity, **conventions).expanded
    except RuleError:
        return None


@pytest.mark.parametrize("name", sampled(3, names()))
def test_inference_memory_is_weights_plus_cache_plus_logits(name: str) -> None:
    model = sf.architecture(name)
    memory = _expanded(model, "inference-memory", weights="bf16", cache="bf16", logits="fp32")
    cache = _expanded(model, "kv-cache", dtype="bf16")
    assert (memory is None) == (cache is None)
    if memory is not None and cache is not None:
        # logits of one token per sequence, 4 bytes per vocabulary entry; none without a head
        assert (memory - 2 * model.params.expanded - cache).expand() in (4 * B * V, 0)


@pytest.mark.parametrize("name", sampled(3, names()))
def test_training_memory_is_states_plus_activations(name: str) -> None:
    model = sf.architecture(name)
    kept = _expanded(model, "activations", implementation="eager", dtype="fp32")
    memory = _expanded(model, "train-memory", recipe="fp32", implementation="eager")
    without = _expanded(model, "train-memory", recipe="fp32", implementation="none")
    assert without is not None
    if memory is None or kept is None:
        assert name not in ("gpt2", "llama", "bert")
        return
    assert (memory - without - kept).expand() == 0


@pytest.mark.parametrize("name", sampled(3, names()))
def test_generation_flops_are_prefill_plus_one_decode_pass_per_later_token(name: str) -> None:
    model = sf.architecture(name)
    generated = _expanded(model, "generation-flops")
    prompt, decoded = _expanded(model, "prefill-flops", logits="last"), _expanded(model, "decode-flops")
    if generated is None or prompt is None or decoded is None:
        assert name not in ("gpt2", "llama", "t5", "mamba2")
        return
    passes = sum((decoded.xreplace({C: S + done}) for done in range(3)), start=prompt)  # of four tokens
    difference = generated.xreplace({N_new: Integer(4)}) - passes
    # a window that becomes full in a later step, before the first, or never
    for window in (5, 3, 9) if difference.has(Min) else ():
        assert difference.xreplace({S: Integer(4), C_win: Integer(window), C_chunk: Integer(window)}).expand() == 0
    assert difference.has(Min) or difference.expand() == 0
