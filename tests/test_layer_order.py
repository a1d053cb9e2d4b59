"""The order of layers of several kinds: the parameters of each layer of torch classes, one after another."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

import symformer as sf
from symformer.algebra.rank_amounts import RankAmounts
from symformer.architectures import presets
from symformer.language.errors import RuleError
from symformer.models.layer_order import layer_order

COMMON: dict[str, Any] = {
    **{"vocab_size": 97, "hidden_size": 48, "intermediate_size": 56, "num_attention_heads": 4},
    **{"num_key_value_heads": 2, "head_dim": 12},
}
CONFIGS: dict[str, dict[str, Any]] = {
    "jamba": {
        **{"num_hidden_layers": 11, "attn_layer_period": 4, "attn_layer_offset": 2, "expert_layer_period": 2},
        **{"expert_layer_offset": 1, "num_experts": 3, "mamba_d_state": 5, "mamba_dt_rank": 7},
    },
    "llama4_text": {
        **{"num_hidden_layers": 9, "interleave_moe_layer_step": 2, "num_local_experts": 3, "intermediate_size_mlp": 72},
        **{"moe_layers": None, "no_rope_layers": None},
    },
    "deepseek_v3": {
        **{"num_hidden_layers": 7, "first_k_dense_replace": 2, "moe_intermediate_size": 20, "n_routed_experts": 4},
        **{"n_shared_experts": 1, "n_group": 1, "topk_group": 1, "num_experts_per_tok": 2, "q_lora_rank": 14},
        **{"kv_lora_rank": 10, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6, "num_key_value_heads": 4},
        **{"head_dim": 4},
    },
    "qwen3_next": {
        **{"num_hidden_layers": 9, "num_experts": 3, "moe_intermediate_size": 16, "num_experts_per_tok": 2},
        **{"shared_expert_intermediate_size": 18, "linear_num_key_heads": 2, "linear_num_value_heads": 4},
        **{"linear_key_head_dim": 6, "linear_value_head_dim": 10, "head_dim": 16},
    },
    "nemotron_h": {
        **{"hybrid_override_pattern": "M-M*-MM-*", "mamba_num_heads": 6, "mamba_head_dim": 8, "ssm_state_size": 5},
        **{"n_groups": 2, "chunk_size": 16},
    },
    "lfm2": {
        **{"num_hidden_layers": 7, "full_attn_idxs": [2, 3, 6], "block_auto_adjust_ff_dim": False},
        **{"layer_types": None},
    },
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_each_layer_has_the_parameters_of_its_kind(kind: str) -> None:
    config = CONFIG_MAPPING[kind](**{**COMMON, **CONFIGS[kind]})
    with torch.device("meta"):
        built = AutoModelForCausalLM.from_config(config)
    theirs: dict[int, int] = {}
    for name, weight in built.named_parameters():
        words = name.split(".")
        if "layers" in words:
            layer = int(words[words.index("layers") + 1])
            theirs[layer] = theirs.get(layer, 0) + weight.numel()
    stages = RankAmounts(sf.model(config), "params", {}).stages({})
    ours = [stages.once["middle"].layers[each] for each in stages.order]
    assert len(set(ours)) > 1
    assert ours == [theirs[layer] for layer in range(len(theirs))]


# The layers of one kind, counted from 0, according to the config.json of each preset.
PLACES = {
    "bamba-9b": ("L_attn", [9, 18, 27]),
    "granite-4.0-h-350m": ("L_attn", [10, 13, 17, 27]),
    "granite-4.0-h-micro": ("L_attn", [5, 15, 25, 35]),
    "granite-4.0-h-small": ("L_attn", [5, 15, 25, 35]),
    "granite-4.0-h-1b": ("L_attn", [5, 15, 25, 35]),
    "kimi-linear-48b-a3b": ("L_attn", [3, 7, 11, 15, 19, 23, 26]),
    "lfm2-350m": ("L_attn", [2, 5, 8, 10, 12, 14]),
    "lfm2-1.2b": ("L_attn", [2, 5, 8, 10, 12, 14]),
    "lfm2-8b-a1b": ("L_attn", [2, 6, 10, 14, 18, 21]),
    "llama-4-maverick-text": ("L_dense", list(range(0, 48, 2))),
    "nemotron-h-8b": ("L_attn", [7, 18, 29, 40]),
    "nemotron-h-4b-base-8k": ("L_attn", [7, 18, 29, 40]),
    "zamba2-7b": ("L_hyb", [6, 11, 17, 23, 29, 35, 41, 47, 53, 59, 65, 71, 77]),
    "deepseek-v4-flash": ("L_csa", list(range(2, 43, 2))),
    "deepseek-v4-pro": ("L_csa", list(range(2, 61, 2))),
}


@pytest.mark.parametrize("preset", PLACES)
def test_presets_have_the_published_order(preset: str) -> None:
    kind, places = PLACES[preset]
    order = layer_order(sf.model(preset))
    assert [layer for layer, each in enumerate(order) if str(each) == kind] == places


def test_stored_orders_have_the_layers_of_their_presets() -> None:
    stored = [preset for preset, facts in presets().items() if "layers" in facts]
    assert {*PLACES, "nemotron-nano-9b-v2"} <= {*stored}
    for preset in stored:
        layer_order(sf.model(preset))  # raises RuleError for other numbers of layers


def test_an_unsupported_stage_is_stated_before_an_unknown_order() -> None:
    with pytest.raises(RuleError, match="is computed before the layers"):
        RankAmounts(sf.model("zamba2-1.2b"), "params", {}).of(2, {})
    with pytest.raises(RuleError, match="need the order of its 30 layers of 2 kinds, which is not known"):
        RankAmounts(sf.model("lfm2-2.6b"), "params", {}).of(2, {})
