"""Quantized configs: quantities that depend on the storage format of weights are refused, all others answered."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from click.testing import CliRunner, Result

import symformer as sf
from symformer.commands.cli import cli
from symformer.configs.quantization import unquantized
from symformer.language.errors import ConfigError, RuleError
from symformer.targets.resolution import model
from symformer.witness import values_at

from .hub import serving

pytestmark = pytest.mark.usefixtures("arcee_not_built_in")

LLAMA: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 101, "hidden_size": 24,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 20,
    "max_position_embeddings": 64,
}  # fmt: skip
# read from the catalogue
ARCEE: dict[str, Any] = {**LLAMA, "model_type": "arcee", "architectures": ["ArceeForCausalLM"], "head_dim": 6}
# Quantization fields of published checkpoints, shortened: DeepSeek-V3, gpt-oss, an AWQ, a GPTQ and a bitsandbytes
# checkpoint, one of compressed-tensors, one of ModelOpt and one of MLX.
SCHEMES: dict[str, dict[str, Any]] = {
    "fp8": {"quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}},
    "mxfp4": {"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}},
    "awq with 4 bits": {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}},
    "gptq with 8 bits": {"quantization_config": {"quant_method": "gptq", "bits": 8, "desc_act": False}},
    "bitsandbytes with 4 bits": {"quantization_config": {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}},
    "compressed-tensors": {"compression_config": {"quant_method": "compressed-tensors", "config_groups": {}}},
    "modelopt": {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}},
    "an unnamed method with 4 bits": {"quantization": {"group_size": 64, "bits": 4}},
}
ANSWERED = ("params", "active-params", "flops", "macs", "prefill-flops", "decode-flops", "train-flops", "kv-cache")
IN_FORMAT = (
    "weight-memory",
    "inference-memory",
    "traffic",
    "intensity",
)  # answered in the format of the config for a built-in architecture
REFUSED = ("train-memory", "activations", "trainable-params")
FP8 = SCHEMES["fp8"]


def written(folder: Path, config: dict[str, Any], name: str = "config.json") -> str:
    place = folder / name
    place.write_text(json.dumps(config))
    return str(place)


def stored(config: dict[str, Any]) -> int:
    """Return the parameters of the class on the meta device, without quantization."""
    made = transformers.AutoConfig.for_model(**{k: v for k, v in config.items() if k not in ("architectures",)})
    with torch.device("meta"):
        count = sum(prod(weight.shape) for weight in transformers.AutoModelForCausalLM.from_config(made).parameters())
    assert count > 1000
    return int(count)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="symformer")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_quantized_config_has_the_parameters_of_the_unquantized_class(scheme: str, tmp_path: Path) -> None:
    path = written(tmp_path, {**LLAMA, **SCHEMES[scheme]})
    assert sf.from_config(path).params.value() == stored(LLAMA)
    shown = run("show", path)
    assert shown.exit_code == 0, shown.output
    assert f"\nquantized by {scheme} (" in shown.stdout
    provenance = json.loads(run("show", path, "--json").stdout)["provenance"]
    assert provenance["quantized"].startswith(f"{scheme} (")


@pytest.mark.parametrize("config", [LLAMA, ARCEE], ids=["composed", "catalogue"])
def test_only_quantities_that_depend_on_the_storage_format_are_refused(config: dict[str, Any], tmp_path: Path) -> None:
    plain = model(written(tmp_path, config, "plain.json"))
    quantized = model(written(tmp_path, {**config, **FP8}))
    assert quantized.params.value() == stored(config)
    for name in ANSWERED:
        assert quantized.formula(name).code() == plain.formula(name).code(), name
    for name in REFUSED:
        with pytest.raises(
            RuleError, match=rf"^{name} of .*, quantized by fp8 \(quantization_config\), is not supported: "
        ):
            quantized.formula(name)
    for name in IN_FORMAT:
        if config is LLAMA:
            assert quantized.formula(name).code() == plain.formula(name, weights="fp8-block").code()
        else:
            reason = "weights=fp8-block needs the role of every weight" if "memory" in name else "needs the elementwise"
            with pytest.raises(RuleError, match=reason):
                quantized.formula(name)


INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 8, "symmetric": True, "actorder": "static"}
PACKED = {"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"]}
# A quantization that has no weight format, and the field and value that the message names.
UNSUPPORTED: list[tuple[dict[str, Any], str]] = [
    ({"quantization_config": {"quant_method": "quip"}}, "quantization_config.quant_method is 'quip'"),
    ({"quantization_config": {"quant_method": "awq", "bits": 5, "group_size": 8}}, "quantization_config.bits is 5"),
    (
        {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": -1}},
        "quantization_config.group_size is -1",
    ),
    ({"quantization_config": {"quant_method": "fp8"}}, "quantization_config.weight_block_size is None"),
    (
        {"quantization_config": {**FP8["quantization_config"], "modules_to_not_convert": ["model.layers.0"]}},
        "quantization_config.modules_to_not_convert is ['model.layers.0']",
    ),
    (
        {"compression_config": {**PACKED, "config_groups": {"all": {"targets": ["Linear"], "weights": INT4}}}},
        "compression_config.config_groups.all.weights.actorder is 'static'",
    ),
    ({"quantization": {"group_size": 64, "bits": 7}}, "quantization is {'group_size': 64, 'bits': 7}, a format of MLX"),
    ({**FP8, "compression_config": PACKED}, "quantization_config and compression_config state several formats"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "words"), UNSUPPORTED, ids=[words for _, words in UNSUPPORTED])
def test_an_unsupported_quantization_is_refused_by_its_field(
    fields: dict[str, Any], words: str, tmp_path: Path
) -> None:
    result = run("show", written(tmp_path, {**LLAMA, **fields}), "-q", "weight-memory")
    assert result.exit_code == 2
    assert f"it counts the bytes of the weights, and {words}, which is not supported; remove" in result.stderr


def test_the_format_of_mlx_is_read(tmp_path: Path) -> None:
    """MLX states its format twice. 4 bits, and 4 bytes for 32 elements, are 5 bits of each matrix; a norm has 24·2."""
    own = {"quantization": {"group_size": 32, "bits": 4}, "quantization_config": {"group_size": 32, "bits": 4}}
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 96}
    config = {**LLAMA, **sizes, "tie_word_embeddings": False}
    norms = 7 * 64
    matrices = stored(config) - norms
    path = written(tmp_path, {**config, **own})
    assert sf.from_config(path).formula("weight-memory").value() == matrices * 5 // 8 + 2 * norms
    mixed = {"quantization": {"group_size": 32, "bits": 4, "lm_head": {"group_size": 32, "bits": 8}}}
    result = run("show", written(tmp_path, {**config, **mixed}), "-q", "weight-memory")
    assert "a format of MLX, which is not supported" in result.stderr
    with pytest.raises(RuleError, match=r"gate.weight: weights=mlx-4 is not supported for a matrix of this kind"):
        sf.model("mixtral-8x7b").formula("weight-memory", weights="mlx-4")


def test_the_cache_precision_is_independent_of_quantization(tmp_path: Path) -> None:
    path = written(tmp_path, {**LLAMA, **FP8})
    cache = sf.from_config(path).formula("kv-cache", dtype="bf16").value(B=2, C=7)
    assert cache == 2 * 2 * 7 * 3 * 2 * 6 * 2  # keys and values, B, C, layers, heads, width, bytes


def test_adapters_and_a_forward_pass_over_ranks_do_not_depend_on_the_stored_format(tmp_path: Path) -> None:
    path = written(tmp_path, {**LLAMA, **FP8})
    adapted = model(path, lora="q_proj").set({"R": 5})
    assert adapted.formula("trainable-params").value() == 3 * 5 * (24 + 4 * 6)
    ways = {"tensor": "on", "step": "forward"}
    plain = model(written(tmp_path, LLAMA, "plain.json"))
    assert model(path).formula("communication", **ways).code() == plain.formula("communication", **ways).code()
    for other in ({"tensor": "on"}, {**ways, "data": "zero3"}):
        with pytest.raises(RuleError, match=r"communication of .* is not supported: it counts the bytes of weights"):
            model(path).formula("communication", **other)


def test_sizes_taken_from_a_quantized_config_do_not_answer_for_its_memory(tmp_path: Path) -> None:
    path = written(tmp_path, {**LLAMA, **FP8})
    llama = sf.architecture("llama")
    assert llama.params.value(path) == stored(LLAMA)
    with pytest.raises(RuleError, match=r"inference-memory of .* quantized by fp8"):  # the formula is for bf16
        llama.formula("inference-memory").value(path, B=1, C=2)


@pytest.mark.exhaustive
def test_a_trace_builds_the_unquantized_class(tmp_path: Path) -> None:
    path = written(tmp_path, {**ARCEE, **FP8})
    traced = sf.trace(path)
    assert values_at(traced, path) == stored(ARCEE)
    cache = traced.for_quantity("kv-cache").model.with_sizes_for("kv-cache").formula("kv-cache", dtype="bf16")
    assert cache.value(L=3, G=2, D=6, B=1, C=5) == 2 * 5 * 3 * 2 * 6 * 2  # keys and values, C, L, G, D, bytes
    with pytest.raises(RuleError, match="weights=fp8-block needs the role of every weight"):
        traced.for_quantity("inference-memory").model.formula("inference-memory")
    plain = sf.trace(written(tmp_path, ARCEE, "plain.json"))
    with pytest.raises(RuleError, match=r"activations of .* quantized by fp8"):
        values_at(plain, path, "activations", {"B": 1, "S": 8})
    shown = run("trace", path)
    assert "\nquantized by fp8 (quantization_config): weights=fp8-block is the default" in shown.stdout


def test_a_quantized_config_of_the_hub_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "HF_HUB_OFFLINE",
        "TRANSFORMERS_OFFLINE",
        "SYMFORMER_SET_HF_HUB_OFFLINE",
        "HF_HUB_CACHE",
        "HTTP_PROXY",
    ):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    with serving() as hub:
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        hub.put("ada/tiny", {**LLAMA, **FP8})
        shown = run("show", "ada/tiny")
        assert f"= {stored(LLAMA):,}" in shown.stdout, shown.output
        assert "quantized by fp8" in shown.stdout
        assert run("show", "ada/tiny", "-q", "train-memory").exit_code == 2


def test_a_document_states_the_quantization(tmp_path: Path) -> None:
    path, page = written(tmp_path, {**LLAMA, **FP8}), tmp_path / "page.md"
    assert run("derive", path, "-o", str(page)).exit_code == 0
    assert "quantized by fp8 (quantization\\_config): weights=fp8-block is the default" in page.read_text()
    memory = run("derive", path, "-o", str(tmp_path / "memory.md"), "--quantity", "train-memory")
    assert memory.exit_code == 2
    assert not (tmp_path / "memory.md").exists()


def test_the_config_of_a_part_may_state_it() -> None:
    config = {"text_config": {"vocab_size": 5, "quantization_config": {"quant_method": "fp8"}}, "dtype": "bfloat16"}
    found = unquantized(config)
    assert found == (
        {"text_config": {"vocab_size": 5}, "dtype": "bfloat16"}, "fp8 (text_config.quantization_config)"
    )  # fmt: skip
    assert "quantization_config" in config["text_config"]  # the given config is unchanged


def test_a_null_field_states_no_quantization(tmp_path: Path) -> None:
    path = written(tmp_path, {**LLAMA, "quantization_config": None})
    assert "quantized" not in run("show", path).stdout
    assert sf.from_config(path).formula("inference-memory")


@pytest.mark.parametrize("value", ["fp8", 4, True, [{}]])
def test_a_field_that_is_not_an_object_is_refused(value: Any, tmp_path: Path) -> None:
    path = written(tmp_path, {**LLAMA, "quantization_config": value})
    with pytest.raises(ConfigError, match=r"'quantization_config' is .* in the config; it should be an object or null"):
        sf.from_config(path)
