"""The collected numbers of serving.json: each is a result, or is listed with a reason."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import symformer as sf
from symformer.language.errors import RuleError, SizeError
from symformer.language.symbols import SYMBOLS

from .test_cache_engines import RESULTS

NUMBERS: dict[str, dict[str, Any]] = {
    each["id"]: each for each in json.loads(Path(__file__).with_name("serving.json").read_text("utf-8"))
}
MIB = 2**20

# The caches of transformers, of default configs in bf16: the model type, and the sizes of the run.
CACHES: dict[str, tuple[str, dict[str, int]]] = {
    **{
        f"cache-{name.replace('_', '-')}": (name, {"B": 1, "C": 8})
        for name in ("falcon_h1", "kimi_linear", "mamba", "mamba2", "olmo_hybrid", "zamba2")
    },
}


@pytest.mark.parametrize("name", CACHES)
def test_caches_of_default_configs(name: str) -> None:
    kind, sizes = CACHES[name]
    config = {"model_type": kind, **({"mamba_d_head": 8} if kind == "falcon_h1" else {})}  # facts: D_ssm is 8
    assert sf.from_config(config).formula("kv-cache").value(**sizes) == NUMBERS[name]["value"]


# Target, conventions and sizes of a quantity in bytes, and the factor of the printed number.
BYTES: dict[str, tuple[str, str, dict[str, str], dict[str, int], int]] = {
    "cache-t5-base-cross": ("t5-base", "kv-cache", {}, {"B": 2, "C": 7, "S_enc": 100}, 1),
    "cache-whisper-large-v3-cross": ("whisper-large-v3", "kv-cache", {}, {"B": 1, "C": 7}, 1),
    "llamacpp-kv-qwen3vl-8b-q8": ("qwen3-8b", "kv-cache", {"dtype": "q8_0"}, {"B": 1, "C": 8192}, MIB),
    "llamacpp-kv-q8-64l": ("qwen3-32b", "kv-cache", {"dtype": "q8_0"}, {"B": 1, "C": 32768}, MIB),
    "llamacpp-kv-dscoder-v2-16b-expanded": (
        "deepseek-v2-lite", "kv-cache", {"dtype": "fp16", "latent": "expanded"}, {"B": 8, "C": 2048}, MIB,
    ),
    "llamacpp-kv-r1-mla-q8": ("deepseek-r1", "kv-cache", {"dtype": "q8_0"}, {"B": 1, "C": 32768}, MIB),
    "safetensors-gpt-oss-20b": ("gpt-oss-20b", "weight-memory", {}, {}, 1),
    "safetensors-llama-3-8b": ("llama-3-8b", "weight-memory", {}, {}, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", BYTES)
def test_bytes_of_models(name: str) -> None:
    target, quantity, conventions, sizes, unit = BYTES[name]
    found = Fraction(sf.model(target).formula(quantity, **conventions).value(**sizes), unit)
    printed = Fraction(str(NUMBERS[name]["value"]))
    assert found == printed or (unit == MIB and abs(found - printed) <= Fraction(1, 200))  # printed to 0.01 MiB


def test_the_cache_of_some_layers_on_one_device() -> None:
    part = sf.model("qwen3-32b").set({"L": 41}).formula("kv-cache", dtype="q8_0")
    assert part.value(B=1, C=32768) == NUMBERS[PART]["value"] * MIB


PART = "llamacpp-kv-q8-64l-gpu0"
# Caches of some layers: the target, the size that counts these layers, the conventions and the sizes of the run.
SOME_LAYERS: dict[str, tuple[str, dict[str, str], dict[str, int], str]] = {
    "llamacpp-kv-lfm2-1.2b": ("lfm2-1.2b", {"dtype": "fp16"}, {"B": 1, "C": 32768}, "L_attn"),
    "llamacpp-kv-gemma3-4b-full": (
        "gemma-3-4b-text", {"dtype": "fp16", "window": "reserved"}, {"B": 1, "C": 131072}, "L_global",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOME_LAYERS)
def test_caches_of_the_layers_with_full_attention(name: str) -> None:
    target, conventions, sizes, kind = SOME_LAYERS[name]
    model = sf.model(target)
    formula = model.formula("kv-cache", **conventions)
    one_more = model.set({kind: model.known[SYMBOLS[kind]] + 1}).formula("kv-cache", **conventions)
    layer = one_more.value(**sizes) - formula.value(**sizes)
    assert layer * model.known[SYMBOLS[kind]] == NUMBERS[name]["value"] * MIB


@pytest.mark.parametrize("name", [name for name in NUMBERS if name.startswith("llamacpp-bpw")])
def test_bits_per_weight_of_gguf_mixtures(name: str) -> None:
    each = NUMBERS[name]
    kind = each["format"].partition(":")[2].lower()
    found = sf.model("llama-3.1-8b").formula("weight-memory", weights=f"gguf:{kind}").value()
    worked_out = int(re.search(r"([\d,]+) bytes of tensors", each["note"])[1].replace(",", ""))  # type: ignore[index]
    assert found == worked_out
    bits = Fraction(8 * found, 8_030_261_248 + 64)  # llama.cpp also counts the 64 factors as weights
    assert abs(bits - Fraction(str(each["value"]))) <= Fraction(6, 10**5)


TRAINED = {"lora-llama-2-7b-all-r64": ("llama-2-7b", 64), "lora-llama-3-8b-all-r16": ("llama-3-8b", 16)}


@pytest.mark.parametrize("name", TRAINED)
def test_adapters_of_all_linear_layers(name: str) -> None:
    target, rank = TRAINED[name]
    adapted = sf.model(target, lora="all").set({"R": rank})
    assert adapted.formula("trainable-params").value() == NUMBERS[name]["value"]


MAGNITUDES = "lora-llama-3-8b-qv-dora-r8"


def test_magnitudes_of_adapted_layers() -> None:
    adapted = sf.model("llama-3-8b", dora="q_proj,v_proj").set({"R": 8})
    assert adapted.formula("trainable-params").value() == NUMBERS[MAGNITUDES]["value"]


def test_pages_of_vllm() -> None:
    llama = sf.model("llama-3.1-8b")
    page = llama.formula("kv-cache", dtype="fp8-head", block="16").value(B=1, C=1) / 32  # of one layer
    assert page == NUMBERS["vllm-fp8-per-token-head-page"]["value"]
    head = llama.formula("kv-cache", dtype="nvfp4").value(B=1, C=1) / (2 * 32 * 8)  # K or V of a head of a layer
    assert head == NUMBERS["vllm-nvfp4-kv-head"]["value"]
    page = llama.formula("kv-cache", block="16").value(B=1, C=1)
    assert 3_8125 * 2**30 // 10_000 // page == NUMBERS["vllm-blocks-llama31-8b-3.81"]["value"]


def test_latents_in_blocks_and_pages() -> None:
    """FlashMLA: 512 bytes of the latent, 4 scales of 4 bytes and a rotary key of 64 * 2 bytes: 656 bytes per token."""
    model = sf.model("deepseek-r1")
    assert model.formula("kv-cache", dtype="fp8-ds-mla", block="64").value(B=3, C=65) == 3 * 61 * 2 * 64 * 656
    memory = model.formula("inference-memory", cache="fp8-ds-mla")
    assert memory.value(B=3, C=65) - memory.value(B=2, C=65) == 61 * 65 * 656 + 4 * 129_280
    # An indexer key of 128 elements: 128 bytes and a scale of 4 bytes.
    sparse = sf.model("deepseek-v3.2").formula("kv-cache", dtype="fp8-ds-mla")
    assert sparse.value(B=1, C=7) == 61 * 7 * (656 + 132)
    for target, dtype, because in (
        ("deepseek-r1", "nvfp4", "not supported for latents"),
        ("deepseek-r1", "int8-head", "not supported for latents"),
        ("llama-3-8b", "fp8-ds-mla", "is a format for latents"),
    ):
        with pytest.raises(RuleError, match=because):
            sf.model(target).formula("kv-cache", dtype=dtype)
    odd = sf.model("deepseek-r1").set({"D_rope": 48})  # 512 + 48 is no multiple of 32
    with pytest.raises(SizeError, match="560 is not a multiple of 32"):
        odd.formula("kv-cache", dtype="q4_0").value(B=1, C=7)


def test_pages_of_cross_attention() -> None:
    """By hand: 32 layers of 2 * 1,280 elements of 2 bytes, in 94 pages of 16 for 1,500 positions and 1 for 7 tokens."""
    whisper = sf.model("whisper-large-v3")
    assert whisper.formula("kv-cache", block="16").value(B=1, C=7) == 32 * 2 * 1280 * 2 * 16 * (94 + 1)


PAGES = ("vllm-fp8-per-token-head-page", "vllm-nvfp4-kv-head", "vllm-blocks-llama31-8b-3.81")
# Numbers that other tests check: of files, single matrices and optimizers.
ELSEWHERE = re.compile(
    r"gguf-(file|tensors|matrix)-.*|bnb-(int8|nf4)-\d.*|exl3-.*|gptq-.*|opt-.*"
    r"|ct-(w[23478]a16(_asym)?|w8a8|fp8|fp8_dynamic|mxfp4|mxfp6a16|mxfp8|nvfp4a16)-.*"
)
# The numbers that are not results, with the reason.
OTHERS: dict[str, str] = {
    "bnb-nf4-file-4096x4096-dq": "a file repeats tables and JSON text for every matrix",
    "ct-fp8_block-256x512": "compressed-tensors has scales of 2 bytes; fp8-block has the 4 bytes of DeepSeek-V3",
    "ct-nvfp4-256x512": "has a scale of the input, too",
    "ct-w4a8-384x640": "one byte for each 4-bit weight",
    "torchao-float8-weight-only": "a format of torchao",
    "torchao-int8-weight-only": "a format of torchao",
    "torchao-intx4-unpacked-g128": "a format of torchao",
    "torchao-nvfp4": "without the scale of the matrix",
    **dict.fromkeys(
        (name for name in NUMBERS if name.startswith("deepspeed-")), "a convention of DeepSpeed's estimator"
    ),
    "llamacpp-buffers-r1-distill-qwen-32b-q4_k_m": "the part on one device of a model divided by llama.cpp",
    "lora-llama-2-7b-save-head": "a trained copy of the LM head",
    "qlora-double-quant-bits": "the constants of double quantization alone",
    "safetensors-gpt-oss-120b-files": "files with their headers",
    "safetensors-molmo-7b-nf4": "a checkpoint with text for every matrix",
    "vllm-weights-llama31-8b": "a table of rotary positions on the device",
}


def test_pages_of_a_sequence_over_context_parallel_ranks_are_refused() -> None:
    """Each of 2 ranks has 4,104 of 8,208 tokens, in 257 pages of 16, which is more than half of 513 pages."""
    model = sf.model("llama-3-8b")
    assert model.formula("kv-cache", context="on").value(B=1, C=8208, N_cp=2) == 4104 * 131_072
    with pytest.raises(RuleError, match="block=16 is not supported with context=on"):
        model.formula("kv-cache", context="on", block="16")


def test_every_number_is_a_result_or_has_a_reason() -> None:
    bits = [name for name in NUMBERS if name.startswith("llamacpp-bpw")]
    results = {*CACHES, *BYTES, *SOME_LAYERS, *bits, *TRAINED, *PAGES, PART}
    elsewhere = {name for name in NUMBERS if ELSEWHERE.fullmatch(name)}
    results |= {*RESULTS, MAGNITUDES}
    assert not results & elsewhere
    assert not (results | elsewhere) & {*OTHERS}
    assert {*NUMBERS} == results | elsewhere | {*OTHERS}
    assert (len(results), len(elsewhere), len(OTHERS)) == (89, 83, 18)
