"""RWKV-7: its state, its FLOPs at one size by hand, and its config files, which transformers has no class for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import symformer as sf
from symformer.architectures import from_config
from symformer.language.errors import SymformerError

# All sizes differ; D_lin = 8 divides E = 24.
CONFIG: dict[str, Any] = {
    **{"model_type": "rwkv7", "architectures": ["RWKV7ForCausalLM"], "vocab_size": 29, "hidden_size": 24},
    **{"num_hidden_layers": 5, "head_dim": 8, "intermediate_size": 37, "decay_low_rank_dim": 3},
    **{"a_low_rank_dim": 7, "v_low_rank_dim": 11, "gate_low_rank_dim": 13},
}
# 2*29*24 + 3*24 + 5*24*(4*24 + 2*37 + 2*(3 + 7 + 11 + 13) + 19) - 2*24*11
TOTAL = 31_776


def read(tmp_path: Path, **changed: Any) -> Any:
    path = tmp_path / "config.json"
    fields = {**CONFIG, **changed}
    path.write_text(json.dumps({name: value for name, value in fields.items() if value != "missing"}), "utf-8")
    return from_config(str(path))


@pytest.mark.parametrize(
    ("changed", "total"),
    [
        ({}, TOTAL),
        ({"num_heads": 17}, TOTAL),  # the class computes 24 / 8
        ({"value_dim": 24}, TOTAL),
        ({"value_dim": [24] * 5}, TOTAL),
        ({"value_dim": None, "attn": None, "attn_mode": "fused_recurrent"}, TOTAL),
        ({"hidden_ratio": 3.6}, TOTAL),  # no effect, because the intermediate size is stated
        ({"intermediate_size": None}, TOTAL + 10 * 24 * (96 - 37)),  # 4 times 24 is a multiple of 32
        ({"intermediate_size": "missing", "hidden_ratio": 3.6}, TOTAL + 10 * 24 * (96 - 37)),  # 86 becomes 96
        ({"intermediate_size": None, "hidden_ratio": 4.1}, TOTAL + 10 * 24 * (128 - 37)),  # 98 becomes 128
        ({"intermediate_size": None, "hidden_ratio": None}, TOTAL + 10 * 24 * (96 - 37)),
        ({"tie_word_embeddings": True}, TOTAL - 29 * 24),
        ({"norm_bias": False}, TOTAL - 12 * 24),  # two norms in each of five layers, and two more
        ({"norm_first": False}, TOTAL - 2 * 24),
        ({"architectures": ["RWKV7Model"]}, TOTAL - 29 * 24),
        ({"v_low_rank_dim": "missing"}, TOTAL + 2 * 24 * 4 * (16 - 11)),  # in four of five layers
        ({"decay_low_rank_dim": "missing"}, TOTAL + 2 * 24 * 5 * (64 - 3)),
        ({"num_hidden_layers": 1}, TOTAL - 4 * 24 * (4 * 24 + 2 * 37 + 2 * (3 + 7 + 11 + 13) + 19)),
    ],
)
def test_config_fields_are_read_as_the_class_reads_them(changed: dict[str, Any], total: int, tmp_path: Path) -> None:
    found = read(tmp_path, **changed)
    assert found.params.value() == total


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"head_dim": None}, "'head_dim' is null"),
        ({"head_dim": 7}, "E=24 is not a multiple of D_lin=7"),
        ({"v_low_rank_dim": None}, "'v_low_rank_dim' is null"),
        ({"value_dim": 48}, "'value_dim' is 48"),
        ({"value_dim": [24, 24, 48, 24, 24]}, "'value_dim' is"),
        ({"attn": {"layers": [2], "num_heads": 3}}, "'attn' is"),
        ({"attn_mode": "parallel"}, "'attn_mode' is"),
        ({"hidden_act": "silu"}, "'hidden_act' is"),
        ({"hidden_ratio": "4", "intermediate_size": None}, "'hidden_ratio' is"),
        ({"hidden_ratio": 0.01, "intermediate_size": None}, "which leaves no H"),
        ({"fuse_linear_cross_entropy": True}, "'fuse_linear_cross_entropy' is"),
        ({"attention_hidden_size": 24}, "'attention_hidden_size'"),  # of another class with this model type
        ({"num_hidden_layers": 0}, "'num_hidden_layers'"),
    ],
)
def test_unsupported_config_fields_are_errors(changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(SymformerError, match=said):
        _ = read(tmp_path, **changed).params


def test_state_does_not_depend_on_the_tokens() -> None:
    # Peng et al. 2025: each of 768/64 heads of 12 layers has 64*64 numbers, here in float32, and each of the two token
    # shifts of a layer keeps 768 numbers, here in bfloat16.
    state, shifts = 12 * (768 // 64) * 64 * 64, 12 * 2 * 768
    model = sf.model("rwkv7-0.1b")
    cache = model.formula("kv-cache")
    assert cache.value(B=3, C=1_000) == cache.value(B=3, C=2) == 3 * (4 * state + 2 * shifts)
    assert model.formula("kv-cache", dtype="fp32").value(B=3, C=7) == 3 * 4 * (state + shifts)
    assert model.formula("kv-cache", dtype="fp8").value(B=3, C=7) == 3 * (4 * state + 2 * shifts)
    assert model.formula("kv-cache", tokens="one").value(B=3) == 0
    memory = model.formula("inference-memory", weights="fp32", cache="fp8").value(B=3, C=7)
    assert memory == 4 * 191_034_624 + 3 * (4 * (state + shifts) + 4 * 65_536)


def test_a_decoding_step_reads_the_state_twice(tmp_path: Path) -> None:
    # The matrices, without the embedding: 29*24 + 5*24*(4*24 + 2*37 + 2*(3 + 7 + 11 + 13)) - 2*24*11 = 28,728; and two
    # products of a state of 3*8*8 numbers with a vector in each of five layers.
    found = read(tmp_path).formula("decode-flops").value(B=2, C=9)
    assert found == 2 * 2 * (28_728 + 5 * 2 * 3 * 8 * 8)


@pytest.mark.parametrize(
    ("quantity", "said"),
    [
        ("activations", "transformers does not have this model"),
        ("train-memory", "transformers does not have this model"),
        ("traffic", "a token shift, which a kernel may fuse, is not supported"),
        ("intensity", "a token shift, which a kernel may fuse, is not supported"),
    ],
)
def test_quantities_that_depend_on_a_kernel_are_errors(quantity: str, said: str) -> None:
    with pytest.raises(SymformerError, match=said):
        sf.model("rwkv7-0.1b").formula(quantity)


@pytest.mark.parametrize(
    ("placed", "said"),
    [
        ({"tensor": "on"}, "a delta rule is not supported with tensor=on"),
        ({"tensor": "sequence"}, "reads the previous position"),
        ({"context": "on"}, "reads the previous position"),
        ({"pipeline": "first"}, "pipeline stages support one kind only"),
    ],
)
def test_placements_on_several_ranks_are_errors(placed: dict[str, str], said: str) -> None:
    with pytest.raises(SymformerError, match=said):
        sf.model("rwkv7-0.1b").formula("flops", **placed)


def test_channel_mixing_is_not_sharded_along_the_sequence() -> None:
    with pytest.raises(SymformerError, match="reads the previous position"):
        sf.component("channel-mixing").formula("flops", context="on")
