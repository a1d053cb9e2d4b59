"""Real configs with layers of several kinds: answers of the catalogue, and refusals with their reasons."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode
from transformers.masking_utils import create_causal_mask, create_chunked_causal_mask

import symformer as sf
from symformer.architectures import architecture_class
from symformer.language.errors import ConfigError, RuleError
from symformer.symbols import E, K, L_dense, L_moe

# As published, with few fields; 34 layers are not a multiple of the pattern's 6.
GEMMA_3_4B: dict[str, Any] = {
    "model_type": "gemma3",
    "architectures": ["Gemma3ForConditionalGeneration"],
    "text_config": {
        "model_type": "gemma3_text",
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "num_hidden_layers": 34,
        "sliding_window": 1024,
    },
    "vision_config": {
        "model_type": "siglip_vision_model",
        "hidden_size": 1152,
        "image_size": 896,
        "intermediate_size": 4304,
        "num_attention_heads": 16,
        "num_hidden_layers": 27,
        "patch_size": 14,
        "vision_use_head": False,
    },
}
B, C = 2, 1500


def _written(config: dict[str, Any], folder: Path) -> str:
    place = folder / "config.json"
    place.write_text(json.dumps(config))
    return str(place)


def test_a_depth_that_is_not_a_multiple_of_the_pattern_matches_torch(tmp_path: Path) -> None:
    fields = {name: value for name, value in GEMMA_3_4B.items() if name != "architectures"}
    config = transformers.AutoConfig.for_model(**fields)
    config._attn_implementation = "eager"
    with torch.device("meta"), torch.no_grad():
        theirs = transformers.Gemma3ForConditionalGeneration(config)
        run = theirs(torch.zeros(B, C, dtype=torch.long), use_cache=True, logits_to_keep=1)
        held = sum(2 * each.numel() for layer in run.past_key_values.layers for each in (layer.keys, layer.values))
        with FlopCounterMode(display=False) as counter:
            theirs(torch.zeros(B, 1, dtype=torch.long), past_key_values=run.past_key_values, use_cache=True)
    stored = sum(each.numel() for each in theirs.parameters())
    # 29 layers cache 1023 tokens and 5 cache all: keys and values of 4 heads of 256, in 2 bytes
    assert held == 2 * 2 * B * 4 * 256 * (29 * 1023 + 5 * C)
    found = sf.model(_written(GEMMA_3_4B, tmp_path))
    assert found.formula("active-params").value() == found.params.value() == stored == 4_300_079_472
    assert found.formula("kv-cache", dtype="bf16").value(B=B, C=C) == held
    assert found.formula("decode-flops").value(B=B, C=C) == counter.get_total_flops() > 0
    memory = found.formula("inference-memory").value(B=B, C=C)
    assert memory == 2 * stored + held + 4 * B * 262_208  # and the logits of one token, in 4 bytes


def test_attention_in_chunks_is_counted_as_transformers_masks_it(tmp_path: Path) -> None:
    config: dict[str, Any] = {
        "model_type": "llama4_text",
        "architectures": ["Llama4ForCausalLM"],
        "vocab_size": 101,
        "hidden_size": 32,
        "intermediate_size": 20,
        "intermediate_size_mlp": 28,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "num_local_experts": 3,
        "attention_chunk_size": 9,
        "pad_token_id": 0,
    }
    found = sf.model(_written(config, tmp_path))
    # three of four layers cache 8 tokens, the last all: keys and values of 2 heads of 8, in 2 bytes
    cache = found.formula("kv-cache", dtype="bf16")
    assert cache.value(B=5, C=21) == 2 * 2 * 5 * 2 * 8 * (3 * 8 + 21)
    assert cache.value(B=5, C=21, C_chunk=13) == 2 * 2 * 5 * 2 * 8 * (3 * 12 + 21)
    theirs = transformers.AutoConfig.for_model(**config)
    theirs._attn_implementation = "eager"
    full, causal = found.formula("flops"), found.formula("flops", attention="causal")
    for tokens in (7, 9, 21, 27):
        x = torch.zeros(1, tokens, 32)
        masks = [make(theirs, x, None, None) for make in (create_chunked_causal_mask, create_causal_mask)]
        chunked, whole = (int(torch.eq(mask, 0).sum()) for mask in masks if isinstance(mask, torch.Tensor))
        assert 0 < chunked <= whole == tokens * (tokens + 1) // 2
        # 4 heads of 8, two products, 2 FLOPs for each multiply-add
        left_out = 3 * (tokens**2 - chunked) + tokens**2 - whole
        assert full.value(B=5, S=tokens) - causal.value(B=5, S=tokens) == 2 * 2 * 5 * 4 * 8 * left_out
    # a new token is multiplied with everything in the cache and with itself
    decode = found.formula("decode-flops")
    assert decode.value(B=5, C=21) - decode.value(B=5, C=3) == 2 * 2 * 5 * 4 * 8 * (3 * (8 - 3) + 21 - 3)
    memory = found.formula("inference-memory").value(B=5, C=21)
    assert memory == 2 * found.params.value() + cache.value(B=5, C=21) + 4 * 5 * 101
    with pytest.raises(RuleError, match="no rule for chunked attention"):
        found.formula("train-flops", counted="palm")
    with pytest.raises(RuleError, match="window=rolling needs a sliding window"):
        found.formula("kv-cache", window="rolling")
    # 1 of 3 experts of 3*32*20 per layer
    assert found.formula("active-params").value() == found.params.value() - 4 * 2 * 3 * 32 * 20
    # the catalogue's class, with an image encoder
    path = _written({"model_type": "llama4", "architectures": ["Llama4ForConditionalGeneration"]}, tmp_path)
    with pytest.raises(RuleError, match=r"multiplies every token by all matrices of .*experts\.gate_up_proj"):
        sf.model(path).formula("active-params")


def test_a_class_under_another_library_name_is_named(tmp_path: Path) -> None:
    offered = "for this model type it has Qwen2_5OmniForConditionalGeneration"
    config = {"model_type": "qwen2_5_omni", "architectures": ["Qwen2_5OmniModel"]}
    with pytest.raises(ConfigError, match=f"names the class 'Qwen2_5OmniModel', .* {offered}"):
        sf.trace(_written(config, tmp_path))
    with pytest.raises(sf.SymformerError, match="such as Qwen2_5OmniForConditionalGeneration"):
        sf.trace("hf:qwen2_5_omni")


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"moe_layers": [0, 1, 2]}, "combine attention and experts in an unsupported way"),
        ({"moe_layers": [1, -1]}, "'moe_layers' contains -1 in the config; layers are numbered from 0"),
        ({"no_rope_layers": [1, 0]}, "it should be a list of 4 numbers, each 0 or 1"),
        ({"layer_types": ["full_attention"] * 4}, "it should be 'chunked_attention' for each layer with rotary"),
        ({"num_hidden_layers": 10**12}, "several kinds of layers may have at most 100,000"),
    ],
)
def test_other_layers_than_those_of_llama_4_are_refused(fields: dict[str, Any], refusal: str) -> None:
    config = {"model_type": "llama4_text", "num_hidden_layers": 4, **fields}
    with pytest.raises(ConfigError, match=re.escape(refusal)):
        architecture_class("llama4").fields.read(config)


EACH_LAYER = {
    **{"model_type": "hunyuan_v1_moe", "num_hidden_layers": 3, "head_dim": 10, "num_experts": 11},
    **{"moe_topk": [4, 4, 4], "moe_intermediate_size": [11008, 11008, 11008]},
}


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"moe_topk": [4, 4, 5]}, "'moe_topk' is [4, 4, 5] in the config; only a list of one number per layer"),
        ({"moe_topk": [4, 4]}, "'moe_topk' is [4, 4] in the config; only a list of one number per layer"),
        ({"moe_intermediate_size": [9, 9, 9]}, "M is 11008; remove the field"),
    ],
)
def test_a_number_for_each_layer_must_be_the_same(changed: dict[str, Any], wrong: str, tmp_path: Path) -> None:
    assert sf.from_config(_written(EACH_LAYER, tmp_path)).known[K] == 4
    with pytest.raises(ConfigError, match=re.escape(wrong)):
        sf.from_config(_written({**EACH_LAYER, **changed}, tmp_path))


def test_a_default_head_dimension_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    config = {"model_type": "helium", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    with pytest.raises(ConfigError, match="the class then uses 128, but E/A is 16; set it to 16"):
        sf.from_config(_written(config, tmp_path))
    assert sf.from_config(_written({**config, "head_dim": 16}, tmp_path)).known[E] == 64


def test_dense_layers_come_first(tmp_path: Path) -> None:
    layers = ["dense", "dense", "sparse"]
    config = {"model_type": "glm4_moe_lite", "num_hidden_layers": 3, "mlp_layer_types": layers}
    model = sf.from_config(_written(config, tmp_path))
    assert (model.known[L_dense], model.known[L_moe]) == (2, 1)
    with pytest.raises(ConfigError, match="'dense' after a layer 'sparse'"):
        sf.from_config(_written({**config, "mlp_layer_types": ["dense", "sparse", "dense"]}, tmp_path))


def test_the_factor_of_a_query_needs_its_numbers(tmp_path: Path) -> None:
    """The class adds 1 to a product with a missing number."""
    rope = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 16384}
    with pytest.raises(ConfigError, match="requires 'llama_4_scaling_beta'"):
        sf.from_config(_written({"model_type": "ministral3", "rope_parameters": rope}, tmp_path))


def test_windows_of_dots_are_refused_by_the_built_in_model() -> None:
    """Torch gives layer 1 a window of 8 here, and also if the field is omitted and there are more than 62 layers."""
    fields = architecture_class("dots1").fields
    config = {"model_type": "dots1", "n_routed_experts": 6, "n_shared_experts": 1, "num_experts_per_tok": 2}
    config |= {"num_hidden_layers": 4, "first_k_dense_replace": 1, "max_window_layers": 1, "head_dim": 10}
    for window in ({"sliding_window": 8}, {}):
        with pytest.raises(ConfigError, match="'sliding_window'"):
            fields.read({**config, **window})
    fields.read({**config, "sliding_window": None})
