"""Sizes of published files, and lines of logs of vLLM and llama.cpp, explained."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.errors import OptionError, RuleError

from .samples import sampled

# The published size of a file, its format, and its header, which is the same for every type of one repository.
FILES = {
    ("llama-3.1-8b", "4920739232"): ("gguf:q4_k_m", 4_912_898_304, 7_840_928),
    ("mistral-7b-v0.1", "4,368,438,944"): ("gguf:q4_k_m", 4_367_704_064, 734_880),
    ("mistral-7b-v0.1", "5131409056"): ("gguf:q5_k_m", 5_130_674_176, 734_880),
    ("llama-2-7b", "4,081,004,224"): ("gguf:q4_k_m", 4_080_263_168, 741_056),
    ("llama-2-7b", "7161089728"): ("gguf:q8_0", 7_160_348_672, 741_056),
    # A safetensors file: 1,100,048,384 parameters of 2 bytes, and 23,096 bytes for the header with 201 names.
    ("tinyllama-1.1b", "2200119864"): ("bf16", 2_200_096_768, 23_096),
}


@pytest.mark.parametrize(("target", "size"), sampled(3, FILES))
def test_sizes_of_files_are_explained(target: str, size: str) -> None:
    name, tensors, header = FILES[target, size]
    found = sf.explain(target, size)
    assert (found.verdict, found.value) == ("convention", tensors + header)
    assert f"weights={name}" in found.reason
    assert f"{tensors:,} + {header:,} = {tensors + header:,}, exactly" in found.reason
    assert not found.alternatives


def test_a_size_that_several_formats_explain_lists_them() -> None:
    """A small model has many types within the length of a header: only a number of bytes is explained by one."""
    found = sf.explain("smollm2-135m", "105454432 bytes")
    assert "weights=gguf:q4_k_m" in found.reason
    assert len(found.alternatives) == 1
    assert sf.explain("smollm2-135m", "105454432").verdict == "unexplained"


def test_the_formula_is_that_of_the_matching_format() -> None:
    result = CliRunner().invoke(cli, ["explain", "llama-2-7b", "3825065984"])  # Q4_0
    assert "weights=gguf:q4_0 (a GGUF file of type Q4_0), as many bytes as gguf:nvfp4" in " ".join(
        result.stdout.split()
    )
    assert "U_weights = " in result.stdout
    assert "\nN = " not in result.stdout


def test_cache_of_vllm() -> None:
    """131,072 tokens of 2·32·8·128 elements of 2 bytes. vLLM states 3.81 GiB for 1,952 blocks of 16 tokens."""
    found = sf.explain("llama-3.1-8b", "INFO [kv_cache_utils.py:524] GPU KV cache size: 131,072 tokens")
    assert found.value == 131_072 * 131_072 == 16 * 2**30
    assert "131,072 tokens of 131,072 bytes each" in found.reason
    fp8 = sf.explain("llama-3.1-8b", "GPU KV cache size: 131,072 tokens", dtype="fp8")
    assert fp8.value == 8 * 2**30
    blocks = sf.explain("llama-3.1-8b", "# GPU blocks: 1952, # CPU blocks: 2048")
    assert blocks.value == 1_952 * 16 * 131_072
    assert "3.81 GiB" in blocks.reason
    assert json.loads(json.dumps(blocks.to_json()))["counts"] == "kv-cache"
    # A latent of 512 and 64 rotary elements in each of 61 layers.
    assert sf.explain("deepseek-v3", "GPU KV cache size: 1,000 tokens").value == 1_000 * 61 * 576 * 2
    for target in ("gemma-2-9b", "jamba-v0.1"):  # windows; states
        with pytest.raises(OptionError, match="has windows or states"):
            sf.explain(target, "GPU KV cache size: 131,072 tokens")


def test_loaded_weights_of_vllm() -> None:
    """A log of vLLM states 14.9888 for Llama 3.1 8B: 2·8,030,261,248 bytes, and 131,072·128·2 of cosines and sines."""
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 128_256, "hidden_size": 4_096}
    config |= {"intermediate_size": 14_336, "num_hidden_layers": 32, "num_attention_heads": 32}
    config |= {"num_key_value_heads": 8, "max_position_embeddings": 131_072, "tie_word_embeddings": False}
    found = sf.explain(sf.model(config), "Loading model weights took 14.9888 GB")
    assert (found.verdict, found.value) == ("convention", 16_060_522_496 + 33_554_432)
    assert "vLLM's table of rotary positions for 131,072 tokens" in found.reason
    assert sf.explain(sf.model(config), "Model loading took 14.9988 GiB").verdict == "unexplained"
    assert sf.explain("llama-3.1-8b", "model weights take 14.96GiB").verdict == "rounded"


def test_sizes_of_llama_cpp() -> None:
    line = "llm_load_print_meta: model size       = 4.58 GiB (4.89 BPW) "
    found = sf.explain("llama-3.1-8b", line)
    assert (found.verdict, found.value, found.formats) == ("rounded", 4_912_898_304, ("gguf:q4_k_m",))
    other = sf.explain("llama-3.1-8b", line.replace("4.89", "4.95"))
    assert other.verdict == "unexplained"
    assert "the nearest is gguf:q4_k_m, 4,912,898,304 bytes (4.58 GiB, 4.89 bits per weight)" in other.reason
    with pytest.raises(RuleError, match="not supported for gpt2"):
        sf.explain("gpt2", line)
    with pytest.raises(OptionError, match="has no effect on the line"):
        sf.explain("llama-3.1-8b", line, dtype="fp8")
    assert sf.explain("llama-3.1-8b", "print_info: model params     = 8.03 B").verdict == "rounded"


def test_caches_of_llama_cpp() -> None:
    """2·32·8·128·4,096 elements of 2 bytes are 512 MiB; q8_0 has 34 bytes for 32 elements: 136 of 256 MiB."""
    line = "llama_kv_cache_unified: size =  512.00 MiB (  4096 cells,  32 layers,  1 seqs), K (f16):  256.00 MiB"
    found = sf.explain("llama-3.1-8b", line)
    assert (found.verdict, found.value) == ("rounded", 2**29)
    older = "llama_new_context_with_model: KV self size  =  136.00 MiB, K (q8_0):   68.00 MiB, V (q8_0):   68.00 MiB"
    assert sf.explain(sf.model("llama-3.1-8b").set({"C": 2048}), older).value == 136 * 2**20
    found = sf.explain("llama-3.1-8b", older)  # without C, the number of tokens that the size is a multiple of
    assert (found.value, "a context of 2,048 tokens" in found.reason) == (136 * 2**20, True)
    result = CliRunner().invoke(cli, ["explain", "llama-3.1-8b", older, "--set", "C=2048", "--json"])
    assert json.loads(result.stdout)["counts"] == "kv-cache"


def test_totals_of_an_index() -> None:
    line = '"metadata": {"total_size": 13761264768},'
    assert sf.explain("gpt-oss-20b", line).verdict == "exact"
    with pytest.raises(OptionError, match="states kv-cache, not flops"):
        sf.explain("llama-3.1-8b", "GPU KV cache size: 131,072 tokens", "flops")
