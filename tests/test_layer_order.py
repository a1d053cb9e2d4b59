"""The order of layers of several kinds: the parameters of each layer of torch classes, one after another."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

import symformer as sf
from symformer.algebra.rank_amounts import RankAmounts

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
