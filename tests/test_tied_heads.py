"""T5 and its relatives: with tie_word_embeddings=false, a checkpoint has a token embedding and a separate head."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import symformer as sf
from symformer.language.errors import OptionError
from symformer.targets.resolution import model
from symformer.witness import values_at

# As in google/mt5-small and google/umt5-small, which differs in its vocabulary and has distances in every layer.
MT5: dict[str, Any] = {
    "model_type": "mt5", "architectures": ["MT5ForConditionalGeneration"], "vocab_size": 250112, "d_model": 512,
    "d_kv": 64, "d_ff": 1024, "num_layers": 8, "num_decoder_layers": 8, "num_heads": 6, "dropout_rate": 0.1,
    "feed_forward_proj": "gated-gelu", "relative_attention_num_buckets": 32, "is_encoder_decoder": True,
}  # fmt: skip
UMT5 = {**MT5, "model_type": "umt5", "architectures": ["UMT5ForConditionalGeneration"], "vocab_size": 256384}
# Of the same family, and not built in.
LONGT5 = {
    "model_type": "longt5",
    "architectures": ["LongT5ForConditionalGeneration"],
    "encoder_attention_type": "local",
}
TINY = {"vocab_size": 101, "d_model": 24, "d_kv": 5, "d_ff": 20, "num_layers": 3, "num_decoder_layers": 2,
        "num_heads": 4}  # fmt: skip
UNTIED = {"tie_word_embeddings": False}


def written(folder: Path, config: dict[str, Any]) -> str:
    place = folder / "config.json"
    place.write_text(json.dumps(config))
    return str(place)


def loaded(config: dict[str, Any], folder: Path) -> int:
    """Return the parameters that from_pretrained loads from a checkpoint with an untied head."""
    kind = getattr(transformers, config["architectures"][0])
    fresh = kind(kind.config_class(**{k: v for k, v in config.items() if k not in ("architectures", "model_type")}))
    weights = {name: each.clone() for name, each in fresh.state_dict().items()}
    weights["lm_head.weight"] = weights["lm_head.weight"] + 1
    (folder / "checkpoint").mkdir()
    fresh.config.save_pretrained(folder / "checkpoint")
    torch.save(weights, folder / "checkpoint" / "pytorch_model.bin")
    found = kind.from_pretrained(folder / "checkpoint")
    assert not torch.equal(found.lm_head.weight, found.get_input_embeddings().weight)
    return int(found.num_parameters())


@pytest.mark.parametrize("config", [MT5, UMT5], ids=["mt5", "umt5"])
def test_from_pretrained_keeps_an_untied_head(config: dict[str, Any], tmp_path: Path) -> None:
    tiny = {**config, **TINY, **UNTIED}
    assert model(written(tmp_path, tiny)).params.value() == loaded(tiny, tmp_path)


@pytest.mark.parametrize(
    ("config", "one", "two"),
    [(MT5, 172_119_424, 300_176_768), (UMT5, 175_333_376, 306_601_984)],  # from the issue, from the checkpoints' files
    ids=["mt5-small", "umt5-small"],
)
def test_the_published_checkpoints_have_two_tables(config: dict[str, Any], one: int, two: int, tmp_path: Path) -> None:
    untied = model(written(tmp_path, {**config, **UNTIED}))
    assert untied.params.value() == two == one + config["vocab_size"] * 512
    assert model(written(tmp_path, {**config, "tie_word_embeddings": True})).params.value() == one
    assert model(written(tmp_path, config), tied="false").params.value() == two
    assert model(written(tmp_path, {**config, **UNTIED}), tied="true").params.value() == one


def test_a_trace_builds_the_untied_head_of_the_config(tmp_path: Path) -> None:
    for model_type, name in (("t5", "T5ForConditionalGeneration"), ("mt5", "MT5ForConditionalGeneration")):
        config = {**TINY, "model_type": model_type, "architectures": [name], **UNTIED}
        path = written(tmp_path, config)
        traced = sf.trace(path)
        two = values_at(traced, path)
        assert two == model(path).params.value()
        assert "tie_word_embeddings=false" not in traced.ignored
        one = model(written(tmp_path, {**config, "tie_word_embeddings": True})).params.value()
        assert two == one + 101 * 24


def test_tied_is_refused_if_it_has_no_effect_or_is_not_a_boolean(tmp_path: Path) -> None:
    path = written(tmp_path, {**LONGT5, **TINY})
    with pytest.raises(OptionError, match="tied='x' is not true or false"):
        model(path, tied="x")
    base = {**TINY, "model_type": "longt5", "architectures": ["LongT5Model"]}
    with pytest.raises(OptionError, match="tied=false has no effect: LongT5Model of transformers ignores it"):
        model(written(tmp_path, base), tied="false")


def test_a_head_with_its_own_table_is_noted(tmp_path: Path) -> None:
    untied, tied = (model(written(tmp_path, {**LONGT5, **TINY, **given})) for given in (UNTIED, {}))
    assert untied.params.value() - tied.params.value() == 101 * 24
    notes = [note for note in untied.provenance.notes if note.startswith("tie_word_embeddings=false: the head has its")]
    assert len(notes) == 1
