"""The mechanisms of the atlas: what the catalogue proves about a class, checked against the code of the library."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from symformer import architectures
from symformer.catalogue.entries import find_entry
from symformer.site.atlas_target import AtlasTarget, atlas_targets, chosen_targets
from symformer.site.mechanisms import MEANINGS, mechanisms

# Read in the code of each class in transformers 5.23.
EXPECTED = {
    "hf:afmoe": {
        "sliding window", "query and key norms", "attention gate", "experts", "shared expert", "gated MLP",
        "rotary positions", "multi-head attention",  # by default as many key/value heads
    },
    "hf:marian": {"cross-attention", "multi-head attention", "tied embeddings"},  # its positions are sines, but stored
    "hf:vit_mae": {"images", "multi-head attention"},  # the same
    "hf:rwkv": {"time mixing"},
    "hf:qwen3_5_moe": {
        "linear attention", "gated DeltaNet", "query and key norms", "experts", "shared expert", "gated MLP",
        "rotary positions", "grouped-query attention", "convolution",
    },
    "hf:swin": {"images", "multi-head attention", "relative positions"},
    "hf:patchtsmixer": set(),  # it mixes patches of a time series by MLPs
}  # fmt: skip


def proved(target: AtlasTarget) -> tuple[str, ...]:
    assert target.config is not None
    return mechanisms(target.model(), find_entry(*target.config))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_class_has_the_mechanisms_of_its_code(name: str) -> None:
    (target,) = chosen_targets((name,))
    found = proved(target)
    assert {*found} == EXPECTED[name]
    assert [*found] == [each for each in MEANINGS if each in found]


# Published: T5, Mixtral (section 2.1), Mamba, Qwen3-Next and LLaVA.
BUILT_IN = {
    "t5-small": {"encoder-decoder", "cross-attention", "relative positions", "multi-head attention"},
    "mixtral-8x7b": {"experts", "gated MLP", "grouped-query attention", "rotary positions"},
    "mamba-130m": {"state-space mixer", "convolution"},
    "llava-1.5-7b": {"vision tower", "images", "gated MLP", "rotary positions", "multi-head attention"},
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_architecture_has_its_published_mechanisms(name: str) -> None:
    assert {*mechanisms(architectures.architecture(name))} >= BUILT_IN[name]


# What the classes of the modules of a build state in their source, by mechanism.
STATED = {
    "rotary positions": r"apply_\w*rotary|RotaryEmbedding|apply_rope",
    "learned positions": r"self\.\w*pos\w*\s*(:\s*\S+)?=\s*(nn\.(Parameter|Embedding)|\w*Position\w*Embedding)"
    r"|self\.wpe\b|register_parameter\(\s*.position|QuantEmbedding|ProphetNetPositionalEmbeddings",
    "gated MLP": r"\)\s*\*\s*(self\.)?(up|w3|gate|value|x2|hidden|linear)|\* *self\.(up_proj|w3|wi_1)\(|up\w* \*"
    r"|chunk\(2|gate\w*\)? \* |hidden_gelu \* |kernelize",
    "experts": r"class \w*(Experts|MoE|Moe|Expert)\w*\(",
    "shared expert": r"shared_expert",
    "sparse attention": r"class \w*Indexer\w*\(",
    "attention sinks": r"sinks?\b",
    "latent attention": r"kv_lora_rank",
    "time mixing": r"time_decay",
    "cross-attention": r"encoder_hidden_states|key_value_states|cross_attn|CrossAttention|cross_attention",
    "encoder-decoder": r"encoder_hidden_states|encoder_output",
    "sliding window": r"sliding_window|local_attention|window_size",
    "chunked attention": r"chunk",
    "convolution": r"nn\.Conv|Conv1d|Conv2d",
    "images": r"pixel_values|patch_embed|PatchEmbed|image",
    "vision tower": r"pixel_values|vision|image",
    "audio": r"input_features|input_values|mel|audio",
    "gated DeltaNet": r"gated_delta_rule",
    "Kimi Delta Attention": r"kimi_delta_attention|KDA",
    "linear attention": r"delta_rule|delta_attention|KDA",
    "state-space mixer": r"class \w*Mamba\w*\(",
    "short convolution": r"class \w*ShortConv\w*\(",
    "query and key norms": r"self\.(q|k)_?(norm|layernorm|layer_norm)",
    "attention gate": r"sigmoid",
    "relative positions": r"relative_attention_bias|relative_(position|k)|rel_(pos|embed)|distance_embedding|r_r_bias",
    "soft cap": r"softcap",
    "bidirectional attention": r"is_causal\s*=\s*False|create_bidirectional|extended_attention_mask|encoder|Encoder",
    "multi-head attention": r"class \w*(Attention|Attn|Attend)\w*\(|num_heads|MultiheadAttention",
    "tied embeddings": r"_tied_weights_keys",
}  # fmt: skip


@cache
def built(class_name: str, model_type: str) -> tuple[Any, str]:
    """Return the default config of a class, and the source of all classes of its modules, built without memory."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    config = transformers.AutoConfig.for_model(model_type)
    kind = getattr(transformers, class_name)
    with torch.device("meta"):
        try:
            module = kind(config)
        except (AttributeError, TypeError, ValueError):
            config = kind.config_class()
            module = kind(config)
    kinds = {type(each) for each in module.modules()}
    own = [inspect.getsource(each) for each in kinds if not each.__module__.startswith("torch.")]
    return config, "\n".join(sorted(own)) + "\n".join(f"nn.{each.__name__}" for each in kinds)


def heads(config: Any) -> Iterator[tuple[int, int]]:
    """Yield the numbers of heads and of key/value heads of all parts of a config."""
    parts = [config.to_dict()]
    while parts:
        part = parts.pop()
        parts += [each for each in part.values() if isinstance(each, Mapping)]
        own = [part.get(each) for each in ("num_attention_heads", "encoder_attention_heads", "num_heads")]
        keys = [part.get(each) for each in ("num_key_value_heads", "encoder_num_key_value_heads", "num_kv_heads")]
        yield from ((one, other) for one in own for other in keys if isinstance(one, int) and isinstance(other, int))


def unsupported(target: AtlasTarget) -> list[str]:
    """Return the mechanisms of a class that the library's code does not state."""
    assert target.config is not None
    config, source = built(*target.config)
    wrong = []
    for name in proved(target):
        if name in ("grouped-query attention", "multi-query attention"):
            fewer = [other for own, other in heads(config) if other < own]
            right = bool(fewer) and (name != "multi-query attention" or 1 in fewer)
        else:
            right = bool(re.search(STATED[name], source))
        wrong += [] if right else [name]
    return wrong


@pytest.mark.exhaustive
@pytest.mark.parametrize("place", range(8))
def test_the_code_of_the_library_states_the_mechanisms(place: int) -> None:
    classes = [target for target in atlas_targets() if target.kind == "class"][place::56]  # 66 of the 464 classes
    assert {each.name: wrong for each in classes if (wrong := unsupported(each))} == {}
