"""Caches as inference engines store them: numbers of the engines' own code and logs, and what they do not support."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import transformers
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.errors import SymformerError
from symformer.quantities.cache_engines import ENGINES

NUMBERS: dict[str, dict[str, Any]] = {
    each["id"]: each for each in json.loads(Path(__file__).with_name("serving.json").read_text("utf-8"))
}
GIB, MIB = 2**30, 2**20

# The bytes of one request, or of all sequences: the target, the engine, other conventions, the sizes of the run, and
# the unit of the number.
REQUESTS: dict[str, tuple[str, str, dict[str, str], dict[str, int], int]] = {
    "vllm-request-llama-3.1-8b": ("llama-3.1-8b", "vllm", {}, {"C": 23641}, 1),
    "vllm-request-deepseek-v3": ("deepseek-v3", "vllm", {}, {"C": 4097}, 1),
    "vllm-request-deepseek-v3.2-fp8": ("deepseek-v3.2", "vllm", {"dtype": "fp8-ds-mla"}, {"C": 5000}, 1),
    "vllm-request-deepseek-v3.2": ("deepseek-v3.2", "vllm", {}, {"C": 5000}, 1),
    "vllm-request-gemma-3-27b": ("gemma-3-27b-text", "vllm", {}, {"C": 100_000, "S_step": 8192}, 1),
    "vllm-request-gemma-3-4b": ("gemma-3-4b-text", "vllm", {}, {"C": 700, "S_step": 2048}, 1),
    "vllm-request-gemma-3n-e2b": ("gemma-3n-e2b-text", "vllm", {}, {"C": 5000, "S_step": 2048}, 1),
    "vllm-request-gemma-4-31b": ("gemma-4-31b-text", "vllm", {}, {"C": 50_000, "S_step": 2048}, 1),
    "vllm-request-gemma-4-26b": ("gemma-4-26b-a4b-text", "vllm", {}, {"C": 5001, "S_step": 2048}, 1),
    "vllm-request-gpt-oss-20b": ("gpt-oss-20b", "vllm", {}, {"C": 131_072, "S_step": 8192}, 1),
    "vllm-request-mistral-7b-v0.1": ("mistral-7b-v0.1", "vllm", {}, {"C": 32_768, "S_step": 2048}, 1),
    "vllm-request-llama-4-scout": ("llama-4-scout-text", "vllm", {}, {"C": 100_000, "S_step": 2048}, 1),
    "vllm-request-whisper-large-v3": ("whisper-large-v3", "vllm", {}, {"C": 448}, 1),
    "vllm-request-nemotron-nano-9b-v2": ("nemotron-nano-9b-v2", "vllm", {}, {"C": 1000}, 1),
    "vllm-request-qwen3-next-80b": ("qwen3-next-80b-a3b", "vllm", {}, {"C": 1000}, 1),
    "vllm-request-qwen3.5-9b-fp8": ("qwen3.5-9b-text", "vllm", {"dtype": "fp8"}, {"C": 3000}, 1),
    "vllm-request-kimi-linear-48b": ("kimi-linear-48b-a3b", "vllm", {}, {"C": 5000}, 1),
    "vllm-request-kimi-linear-48b-fp8": ("kimi-linear-48b-a3b", "vllm", {"dtype": "fp8"}, {"C": 5000}, 1),
    "vllm-request-falcon-h1-7b": ("falcon-h1-7b", "vllm", {}, {"C": 3000}, 1),
    "vllm-request-granite-4.0-h-tiny": ("granite-4.0-h-tiny", "vllm", {}, {"C": 3000}, 1),
    "vllm-request-zamba2-7b": ("zamba2-7b", "vllm", {}, {"C": 3000}, 1),
    "vllm-request-jamba-v0.1": ("jamba-v0.1", "vllm", {}, {"C": 3000}, 1),
    "vllm-request-olmo-hybrid-7b": ("olmo-hybrid-7b", "vllm", {}, {"C": 3000}, 1),
    "vllm-request-lfm2-1.2b": ("lfm2-1.2b", "vllm", {}, {"C": 3000}, 1),
    "vllm-request-mamba2-2.7b": ("mamba2-2.7b", "vllm", {}, {"C": 3000}, 1),
    "vllm-request-falcon-mamba-7b": ("falcon-mamba-7b", "vllm", {}, {"C": 3000}, 1),
    "tensorrt-kv-7b": ("llama-2-7b", "tensorrt-llm", {"block": "64"}, {"C": 132_608}, 1),
    "tensorrt-kv-1.1b": ("tinyllama-1.1b", "tensorrt-llm", {"dtype": "fp16"}, {"C": 3_731_744}, GIB),
    "llamacpp-kv-gemma3-270m-1": ("gemma-3-270m", "llama.cpp", {"dtype": "fp16"}, {"C": 8192}, MIB),
    "llamacpp-kv-gemma3-270m-2": ("gemma-3-270m", "llama.cpp", {"dtype": "fp16"}, {"B": 2, "C": 4096}, MIB),
    "llamacpp-kv-gemma3-270m-4": ("gemma-3-270m", "llama.cpp", {"dtype": "fp16"}, {"B": 4, "C": 2048}, MIB),
    "llamacpp-kv-gemma3-270m-rounded": ("gemma-3-270m", "llama.cpp", {"dtype": "fp16"}, {"B": 3, "C": 341}, MIB),
}  # fmt: skip


@pytest.mark.parametrize("name", REQUESTS)
def test_bytes_in_an_engine(name: str) -> None:
    target, engine, conventions, sizes, unit = REQUESTS[name]
    formula = sf.model(target).formula("kv-cache", engine=engine, **conventions)
    found = Fraction(formula.value(**{"B": 1, **sizes}), unit)
    printed = Fraction(str(NUMBERS[name]["value"]))
    assert found == printed if NUMBERS[name]["exact"] else abs(found - printed) <= Fraction(1, 200)


def test_the_cells_of_a_window_in_llama_cpp() -> None:
    """A window of 512 tokens and a micro-batch of 1 are 513 tokens in 768 cells; a cell of a layer has 1,024 bytes."""
    formula = sf.model("gemma-3-270m").formula("kv-cache", engine="llama.cpp")
    assert formula.value(B=1, C=8000, S_step=1) == 1024 * (3 * 8192 + 15 * 768)
    assert formula.value(B=1, C=700, S_step=1024) == 1024 * (3 * 768 + 15 * 768)


def states(target: str, **conventions: str) -> int:
    """Return the bytes of a sequence that do not depend on its length, for a cache without pages."""
    formula = sf.model(target).formula("kv-cache", **conventions)
    return 2 * formula.value(B=1, C=256) - formula.value(B=1, C=512)


STATES = [name for name in NUMBERS if name.startswith("sglang-state-")]


@pytest.mark.parametrize("name", STATES)
def test_states_of_a_request_in_sglang(name: str) -> None:
    assert states(name.removeprefix("sglang-state-"), engine="sglang") == NUMBERS[name]["value"]


def test_keys_of_one_gpu_in_sglang() -> None:
    per_gpu = sf.model("qwen3-235b-a22b").formula("kv-cache", engine="sglang", tensor="on")
    keys = Fraction(per_gpu.value(B=1, C=367_404, N_tp=4), 2 * GIB)
    assert round(float(keys), 2) == NUMBERS["sglang-kv-qwen3-235b-tp4"]["value"]


def test_states_of_three_sequences_in_llama_cpp() -> None:
    """llama.cpp prints 448.88 MiB: 48 layers of 10,240 * 3 + 48 * 128 * 128 numbers of 4 bytes, three times."""
    found = 3 * states("qwen3.5-27b-text", engine="llama.cpp")
    assert found == 3 * 48 * 4 * (10_240 * 3 + 48 * 128 * 128)
    assert round(found / MIB, 2) == NUMBERS["llamacpp-rs-qwen3.6-27b-3seq"]["value"]
    assert states("qwen3.5-9b-text", engine="llama.cpp") == NUMBERS["llamacpp-rs-qwen3.5-32l"]["value"] * MIB


def page(target: str, **conventions: str) -> tuple[int, int]:
    """Return the tokens of a page of attention in vLLM, and the bytes of a page of all layers with attention."""
    formula = sf.model(target).formula("kv-cache", engine="vllm", **conventions)
    low, high = 1, 10_000  # the second page begins between them
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if formula.value(B=1, C=middle) == formula.value(B=1, C=1) else (low, middle)
    return low, formula.value(B=1, C=high) - formula.value(B=1, C=low)


BLOCKS: dict[str, tuple[str, dict[str, str]]] = {
    "vllm-block-qwen3.5-9b-fp8": ("qwen3.5-9b-text", {"dtype": "fp8"}),
    "vllm-block-qwen3.6-27b-bf16": ("qwen3.5-27b-text", {}),
    "vllm-block-qwen3.8-27b-fp8": ("qwen3.5-27b-text", {"dtype": "fp8"}),
    "vllm-block-nemotron-nano-9b-v2": ("nemotron-nano-9b-v2", {"state": "model"}),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_tokens_of_a_page_of_attention_in_vllm(name: str) -> None:
    target, conventions = BLOCKS[name]
    assert page(target, **conventions)[0] == NUMBERS[name]["value"]


def test_padding_of_the_page_of_a_state_in_vllm() -> None:
    log = NUMBERS["vllm-padding-qwen3.6-27b"]
    own, padded = log["facts"]["state_page"], log["facts"]["attention_page"]
    assert page("qwen3.5-27b-text")[1] == 16 * padded
    assert states("qwen3.5-27b-text", engine="sglang") == 48 * own  # SGLang stores the same state without padding
    assert round(100 * (padded - own) / own, 2) == log["value"]
    older = NUMBERS["vllm-padding-kimi-linear-2025"]
    halves = 2 * older["facts"]["state_page"]  # of 2 GPUs
    assert states("kimi-linear-48b-a3b", engine="sglang") == 20 * halves
    assert older["facts"]["attention_page"] == 960 * 576 * 2


def test_blocks_and_concurrency_of_vllm() -> None:
    """A request of 20,000 tokens has 1,250 of 1,952 blocks of 16, and one of 29,000 tokens 1,813 of 1,478."""
    formula = sf.model("llama-3.1-8b").formula("kv-cache", engine="vllm")
    block = formula.value(B=1, C=1)
    for name in ("vllm-concurrency-llama31-8b-20000", "vllm-concurrency-llama31-8b-29000"):
        facts = NUMBERS[name]["facts"]
        requests = facts["blocks"] * block / formula.value(B=1, C=facts["max_model_len"])
        assert round(requests, 2) == NUMBERS[name]["value"]
    tokens = NUMBERS["vllm-opt-tokens"]
    assert formula.value(B=1, C=tokens["value"]) == tokens["facts"]["blocks"] * block
    assert formula.value(B=1, C=tokens["value"] + 1) > tokens["facts"]["blocks"] * block


RESULTS = {
    *REQUESTS, *STATES, *BLOCKS, "sglang-kv-qwen3-235b-tp4", "llamacpp-rs-qwen3.6-27b-3seq", "llamacpp-rs-qwen3.5-32l",
    "vllm-padding-qwen3.6-27b",
    "vllm-padding-kimi-linear-2025", "vllm-concurrency-llama31-8b-20000", "vllm-concurrency-llama31-8b-29000",
    "vllm-opt-tokens",
}  # fmt: skip


def test_states_of_rwkv_in_llama_cpp() -> None:
    """12 layers of 2 shifts of 768 numbers and 12 heads of 64 * 64 numbers, of 4 bytes."""
    rwkv = sf.model("rwkv7-0.1b").formula("kv-cache", engine="llama.cpp")
    assert rwkv.value(B=5, C=7) == 5 * 12 * 4 * (2 * 768 + 12 * 64 * 64)


def test_a_prefix_is_counted_once() -> None:
    """32 layers of 2 * 8 * 128 elements of 2 bytes: 131,072 bytes per token."""
    llama = sf.model("llama-3.1-8b")
    assert llama.formula("kv-cache", prefix="shared").value(B=5, C=70, C_pre=33) == 131_072 * (33 + 5 * (70 - 33))
    # Pages of 16: 2 whole pages of the prefix are shared, and each of 5 sequences has 3 of its own for 70 - 32 tokens.
    shared = llama.formula("kv-cache", prefix="shared", block="16")
    assert shared.value(B=5, C=70, C_pre=33) == 131_072 * 16 * (2 + 5 * 3)
    assert shared.value(B=1, C=70, C_pre=33) == llama.formula("kv-cache", block="16").value(B=1, C=70)
    assert llama.formula("kv-cache", prefix="shared", engine="vllm").value(B=5, C=70, C_pre=33) == 131_072 * 16 * 17
    latents = sf.model("deepseek-v3").formula("kv-cache", prefix="shared", dtype="fp8")
    assert latents.value(B=5, C=70, C_pre=33) == 61 * 576 * (33 + 5 * 37)
    whole = llama.formula("inference-memory", prefix="shared")
    assert whole.value(B=5, C=70, C_pre=33) == llama.formula("inference-memory").value(B=5, C=70) - 131_072 * 33 * 4
    with pytest.raises(SymformerError, match=r"C_pre=71 .* choose a prefix of at most C tokens"):
        shared.value(B=5, C=70, C_pre=71)


def test_the_states_of_a_hybrid_are_not_shared() -> None:
    hybrid = sf.model("nemotron-nano-9b-v2")
    one, shared = hybrid.formula("kv-cache"), hybrid.formula("kv-cache", prefix="shared")
    assert shared.value(B=3, C=50, C_pre=20) == one.value(B=3, C=50) - 2 * 20 * 4 * 8 * 128 * 2 * 2


REFUSALS: dict[str, tuple[str, dict[str, str]]] = {
    "engine=sglang does not support zamba2; .* with a class in SGLang 0.5.23": ("zamba2-7b", {"engine": "sglang"}),
    "dtype=q8_0 is not a format of vLLM; choose from bf16": ("llama-3-8b", {"engine": "vllm", "dtype": "q8_0"}),
    "dtype=nvfp4 is not a format of llama.cpp": ("llama-3-8b", {"engine": "llama.cpp", "dtype": "nvfp4"}),
    "block=8 is not a page size of vLLM for this model; choose from 16, ": (
        "llama-3-8b", {"engine": "vllm", "block": "8"},
    ),
    "block=16 is not a page size of llama.cpp for this model; it has no pages": (
        "llama-3-8b", {"engine": "llama.cpp", "block": "16"},
    ),
    "block=16 is not a page size of SGLang for this model; choose 64": (
        "deepseek-v3.2", {"engine": "sglang", "block": "16"},
    ),
    "dtype=fp8 is not a format of vLLM for attention with an indexer": (
        "deepseek-v3.2", {"engine": "vllm", "dtype": "fp8"},
    ),
    "dtype=fp8-ds-mla is a format of vLLM only for attention with an indexer": (
        "deepseek-v3", {"engine": "vllm", "dtype": "fp8-ds-mla"},
    ),
    "SGLang caches a layer with a sliding window is not known": ("gemma-3-27b-text", {"engine": "sglang"}),
    "window=rolling is not supported by llama.cpp": ("gpt-oss-20b", {"engine": "llama.cpp", "window": "rolling"}),
    "how TensorRT-LLM stores recurrent states is not known": ("qwen3-next-80b-a3b", {"engine": "tensorrt-llm"}),
    "how llama.cpp caches cross-attention is not known": ("t5-base", {"engine": "llama.cpp"}),
    "prefix=shared is not supported by llama.cpp": ("llama-3-8b", {"engine": "llama.cpp", "prefix": "shared"}),
    "prefix=shared is not supported with engine=vllm for a model with recurrent states": (
        "jamba-v0.1", {"engine": "vllm", "prefix": "shared"},
    ),
    "prefix=shared is not supported for a layer with a window": ("gpt-oss-20b", {"prefix": "shared"}),
    "deepseek-v4: how vLLM 0.33.0, commit 4ba787ec9 stores its cache is not known": (
        "deepseek-v4-flash", {"engine": "vllm"},
    ),
    "does not support deepseek-v32: how TensorRT-LLM": ("deepseek-v3.2", {"engine": "tensorrt-llm"}),
    "vLLM uses different window lengths from transformers for mimo-v2-flash": ("mimo-v2-flash", {"engine": "vllm"}),
    "deepseek-v3; choose latent=compressed": ("deepseek-v3", {"engine": "vllm", "latent": "expanded"}),
    "vLLM uses different window lengths from transformers for cohere2": ("command-r7b", {"engine": "vllm"}),
    "tokens=one is not supported with engine=vllm": ("llama-3-8b", {"engine": "vllm", "tokens": "one"}),
    "context=on is not supported with engine=vllm": ("llama-3-8b", {"engine": "vllm", "context": "on"}),
    "engine=vllm is not supported with pipeline=first": ("falcon-h1-7b", {"engine": "vllm", "pipeline": "first"}),
    "engine=llama.cpp is not supported per rank": ("llama-3-8b", {"engine": "llama.cpp", "tensor": "on"}),
    "engine=vllm depends on L_ssm .* which has no value": ("nemotron-h", {"engine": "vllm"}),
    "a cache in int8-head is not supported for latents": ("deepseek-v3", {"dtype": "int8-head"}),
    "block=16 is not supported for a layer with a window": ("gpt-oss-20b", {"block": "16"}),
    "block=16 is not supported with context=on": ("llama-3-8b", {"block": "16", "context": "on"}),
    "prefix=shared is not supported with context=on": ("llama-3-8b", {"prefix": "shared", "context": "on"}),
    "a window is not supported with context=on": ("gpt-oss-20b", {"context": "on"}),
    "block=16 is not supported for compressed keys": ("deepseek-v4-flash", {"block": "16", "window": "reserved"}),
    "tokens=one has no formula with pages": ("llama-3-8b", {"tokens": "one", "block": "16"}),
    "engine=llamacpp is not supported by kv-cache; did you mean llama.cpp": ("llama-3-8b", {"engine": "llamacpp"}),
}  # fmt: skip


def test_pages_that_cannot_have_equal_bytes_are_refused() -> None:
    """4 heads of 320 elements are no divisor of 16 heads of 256 elements, with 2 * 2 bytes for each element."""
    gemma = sf.model("gemma-4-31b-text").set({"D_global": 320})
    with pytest.raises(SymformerError, match="layers with 5,120 and 16,384 bytes per token"):
        gemma.formula("kv-cache", engine="vllm")


@pytest.mark.parametrize("because", REFUSALS)
def test_refusals_have_remedies_that_work(because: str) -> None:
    target, conventions = REFUSALS[because]
    with pytest.raises(SymformerError, match=because) as raised:
        sf.model(target).formula("kv-cache", **conventions)
    for name, value in re.findall(r"choose (\w+)=([\w.-]+)", str(raised.value)):
        sf.model(target).formula("kv-cache", **{**conventions, name: value})


def test_an_engine_from_every_entrance(tmp_path: Path) -> None:
    model = sf.model("gpt-oss-20b")
    asked = {"B": 3, "C": 5000}
    cells = 256 * 20, min(256 * 20, 256 * 3)  # of 5,000 tokens, and of a window of 128 with a step of 512
    expected = 3 * 12 * 2 * 8 * 64 * 2 * sum(cells)
    assert model.formula("kv-cache", engine="llama.cpp").value(**asked) == expected
    own = {"num_hidden_layers": 24, "num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128}
    assert (
        sf.from_config({"model_type": "gpt_oss", **own}).formula("kv-cache", engine="llama.cpp").value(**asked)
        == expected
    )
    assert sf.model(transformers.GptOssConfig(**own)).formula("kv-cache", engine="llama.cpp").value(**asked) == expected
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt_oss", **own}), "utf-8")
    for target in ("gpt-oss-20b", str(tmp_path / "config.json")):
        run = ["show", target, "-q", "kv-cache", "--option", "engine=llama.cpp", "--set", "B=3", "--set", "C=5000"]
        shown = json.loads(CliRunner().invoke(cli, [*run, "--json"]).stdout)
        assert (shown["value"], shown["conventions"]["engine"]) == (expected, "llama.cpp")
        assert sum(row["value"] for row in shown["breakdown"]) == expected
    memory = {
        name: model.formula("inference-memory", engine=name).value(**asked) for name in ("llama.cpp", "transformers")
    }
    assert memory["llama.cpp"] - memory["transformers"] == expected - model.formula("kv-cache").value(**asked)
    solved = CliRunner().invoke(
        cli, ["solve", "llama-3.1-8b", "-q", "kv-cache", "--at-most", "1GiB", "--option", "engine=vllm", "--for", "C",
              "--given", "B=2"]
    )  # fmt: skip
    assert "4,096" in solved.stdout  # 256 pages of 2 MiB for each of 2 sequences


@pytest.mark.exhaustive
def test_an_engine_is_refused_for_a_trace() -> None:
    sizes = {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 10, "hidden_size": 24, "vocab_size": 29}
    config = transformers.Qwen3Config(num_hidden_layers=3, intermediate_size=14, **sizes)
    assert sf.model(config).formula("kv-cache", engine="vllm").value(B=5, C=33) == 5 * 3 * 2 * 2 * 10 * 2 * 48
    traced = sf.trace(config).for_quantity("kv-cache").model
    pages = traced.formula("kv-cache", block="16")
    assert pages.value(B=5, C=33, L=3, G=2, D=10) == 5 * 3 * 2 * 2 * 10 * 2 * 48
    with pytest.raises(
        SymformerError, match=r"engine=vllm does not support .* it supports only built-in architectures"
    ):
        traced.formula("kv-cache", engine="vllm")


@pytest.mark.parametrize("name", ENGINES)
def test_answers_state_the_source_of_the_engine(name: str) -> None:
    shown = CliRunner().invoke(cli, ["show", "llama-3-8b", "-q", "kv-cache", "--option", f"engine={name}"])
    assert f"stored as in {ENGINES[name].title} {ENGINES[name].source}. " in " ".join(shown.stdout.split())
