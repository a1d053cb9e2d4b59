"""Words that stand for the kinds of layers in a config, such as ``LLLG`` in configs of EXAONE 4."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import symformer as sf
from symformer.language.errors import ConfigError

# The published sizes of EXAONE 4.0 32B, whose list of layers only the word gives.
EXAONE_4 = {
    "model_type": "exaone4",
    "architectures": ["Exaone4ForCausalLM"],
    "vocab_size": 102400,
    "hidden_size": 5120,
    "intermediate_size": 27392,
    "num_hidden_layers": 64,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "sliding_window": 4096,
    "sliding_window_pattern": "LLLG",
    "tie_word_embeddings": False,
}
LOCAL, GLOBAL = "sliding_attention", "full_attention"


def _model(folder: Path, **fields: Any) -> Any:
    place = folder / "config.json"
    place.write_text(json.dumps({**EXAONE_4, **fields}))
    return sf.model(str(place))


def test_word_expands_to_the_list_of_layers(tmp_path: Path) -> None:
    found = _model(tmp_path)
    # per layer: (40 + 40 + 8 + 8) heads of 128 by 5120, 3*5120*27392, norms 2*5120 and 2*128; two tables, a last norm
    layer = 96 * 128 * 5120 + 3 * 5120 * 27392 + 2 * 5120 + 2 * 128
    assert found.params.value() == 64 * layer + 2 * 102400 * 5120 + 5120 == 32_003_216_384
    # 48 layers keep the 4095 tokens that the next one sees in addition to itself, 16 layers keep all 6000
    cache = found.formula("kv-cache", dtype="bf16").value(B=3, C=6000)
    assert cache == 2 * 2 * 3 * 8 * 128 * (48 * 4095 + 16 * 6000)


def test_word_next_to_the_same_list_changes_nothing(tmp_path: Path) -> None:
    listed = _model(tmp_path, layer_types=[LOCAL, LOCAL, LOCAL, GLOBAL] * 16)
    assert listed.params.value() == _model(tmp_path).params.value()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"sliding_window_pattern": "LLXG"}, "'sliding_window_pattern' is 'LLXG'"),
        ({"sliding_window_pattern": ""}, "'sliding_window_pattern' is ''"),
        # 30 = 7*4 + 2: the last layer is the second L of the word
        ({"num_hidden_layers": 30}, "gives the last of 30 layers a window"),
        ({"layer_types": [LOCAL, GLOBAL] * 32}, "'layer_types' lists other layers"),
    ],
)
def test_ambiguous_word_is_refused(fields: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        _ = _model(tmp_path, **fields).params


def test_config_class_errors_are_one_sentence(tmp_path: Path) -> None:
    # no layers of a period of 0: the class of the configs divides by it
    with pytest.raises(sf.SymformerError, match="cannot create the config of exaone4: ZeroDivisionError"):
        _ = _model(tmp_path, sliding_window_pattern=0).params
