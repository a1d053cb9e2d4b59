"""Compressed keys at lengths that the groups of tokens do not divide, which the certificates leave out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import DeepseekV4Config, DeepseekV4ForCausalLM, DynamicCache

import symformer as sf
from symformer import SymformerError
from symformer.architectures import architecture

from .models import cases

CONFIG: dict[str, Any] = {
    **cases()["deepseek-v4"].config.fields,
    "model_type": "deepseek_v4",
    "architectures": ["DeepseekV4ForCausalLM"],
    "hc_mult": 3,
}
SPARSE, HEAVY = CONFIG["compress_rates"].values()  # groups of 6 and 7 tokens; the window has 3


@pytest.fixture(scope="module")
def theirs() -> Any:
    """Return a small model, in the dtypes of one that is loaded in bf16."""
    torch.manual_seed(3)
    model = DeepseekV4ForCausalLM(DeepseekV4Config.from_dict(CONFIG)).eval()
    single = list(model._keep_in_fp32_modules_strict)
    for name, tensor in model.named_parameters():
        if not any(f".{word}." in f".{name}." for word in single):
            tensor.data = tensor.data.to(torch.bfloat16)
    model.config._attn_implementation, model.config._experts_implementation = "eager", "batched_mm"
    return model


@pytest.mark.parametrize("length", [6, 8, 13, 20, 27, 41])
def test_cache_and_one_token_match_the_class(theirs: Any, length: int) -> None:
    """The prompt is read in two parts, so that both end within a group; all dtypes are those of the cache itself."""
    ours = sf.model(CONFIG)
    cache = DynamicCache(config=theirs.config)
    with torch.no_grad():
        for part in (length // 3, length - length // 3):
            theirs(torch.zeros(2, part, dtype=torch.long), past_key_values=cache, use_cache=True)
        tensors = {
            id(each): each.numel() * each.element_size()
            for layer in cache.layers
            for value in vars(layer).values()
            for each in (value.values() if isinstance(value, dict) else [value])
            if isinstance(each, torch.Tensor) and each.is_floating_point()
        }
        assert ours.formula("kv-cache").value(B=2, C=length) == sum(tensors.values())
        with FlopCounterMode(display=False) as counter:
            theirs(torch.zeros(2, 1, dtype=torch.long), past_key_values=cache, use_cache=True)
    assert ours.formula("decode-flops").value(B=2, C=length) == counter.get_total_flops()


@pytest.mark.parametrize("length", [1, 5, 6, 13, 41])
@pytest.mark.parametrize("keys", [1, 3, 40])
def test_causal_pairs_match_a_written_mask(length: int, keys: int) -> None:
    """Query i sees min(i, 3) tokens, and floor(i/m) compressed keys, or the ``keys`` of them that are chosen."""
    queries = range(1, length + 1)
    window = sum(min(query, 3) for query in queries)
    pairs = {
        "window": window,
        "sparse": window + sum(min(query // SPARSE, keys) for query in queries),
        "heavy": window + sum(query // HEAVY for query in queries),
    }
    sizes = {"B": 2, "S": length, "A": 4, "D": 10, "C_win": 3, "C_csa": SPARSE, "C_hca": HEAVY, "K_idx": keys}
    for kind, number in pairs.items():
        scores = sf.component("compressed-attention", keys=kind).formula("flops", attention="causal").part("scores")
        used = {size: value for size, value in sizes.items() if size in map(str, scores.symbols)}
        assert scores.value(used) == 2 * 2 * 4 * 10 * number
    scored = sf.component("compressed-indexer").formula("flops", attention="causal").part("scores")
    complete = sum(query // SPARSE for query in queries)
    assert scored.value(B=2, S=length, A_idx=5, D_idx=9, C_csa=SPARSE) == 2 * 2 * 5 * 9 * complete


@pytest.mark.parametrize(
    ("quantity", "conventions", "reason"),
    [
        ("kv-cache", {"tokens": "one"}, "only every C_csa-th token adds a compressed entry"),
        ("generation-flops", {}, "with compressed keys, the sum over all decoding steps has no closed form"),
        ("activations", {}, "activation memory of residual streams, and of windows of an image, is not supported"),
        ("traffic", {}, "several rows of a token, such as residual streams, are not supported"),
        ("flops", {"tensor": "on"}, "compressed tokens are not supported with tensor=on"),
        ("train-flops", {"counted": "megatron"}, "csa_layers.*scores"),
    ],
)
def test_other_quantities_are_refused(quantity: str, conventions: dict[str, str], reason: str) -> None:
    with pytest.raises(SymformerError, match=reason):
        architecture("deepseek-v4").formula(quantity, **conventions)


def test_cache_before_the_first_group_is_refused() -> None:
    with pytest.raises(SymformerError, match="before the first group of tokens is complete"):
        sf.model("deepseek-v4-flash").formula("kv-cache").value(B=1, C=3)


def test_training_without_a_complete_group_is_refused() -> None:
    """Torch then computes no gradient of the weights that compress tokens; test_tiny_configs compares longer runs."""
    with pytest.raises(SymformerError, match="without a complete group of tokens, no gradient reaches"):
        sf.model("deepseek-v4-flash").formula("train-flops").value(B=1, S=127)
