"""Checkpoints: files that other libraries write, compared with models; damaged files and paths that are refused."""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
import transformers
from click.testing import CliRunner, Result
from gguf.constants import GGML_QUANT_SIZES, MODEL_ARCH_NAMES, GGMLQuantizationType
from gguf.tensor_mapping import get_tensor_name_map
from safetensors.torch import load_file, save_file

import symformer as sf
from symformer.checkpoints.checkpoint_comparison import CheckpointComparison, compare_checkpoint
from symformer.checkpoints.checkpoint_files import open_checkpoint
from symformer.checkpoints.gguf_header import MAX_ITEMS
from symformer.commands.cli import cli
from symformer.quantities.weight_formats.gguf import CONVERTED, MIXTURES_OF

from .models import cases
from .samples import sampled

DIFFERS, REFUSED = 1, 2
# Tied and transposed, mixtures of experts one by one and stacked, latent, hybrid, two towers, images, joined matrices.
SHOWN = (
    *("gpt2", "bert", "llama", "mixtral", "gpt-oss", "deepseek-v3", "jamba", "olmo-hybrid", "granitemoe"),
    *("t5", "gemma3-multimodal", "dinov2", "phi3", "gemma4"),
)
NAMES = [name for name, case in cases().items() if case.config.model_type]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def small(name: str, **other: Any) -> transformers.PreTrainedModel:
    """Return the model of transformers at the small config of an architecture."""
    case = cases()[name].config
    fields: dict[str, Any] = {}
    for path, value in {**case.fields, **other}.items():
        *sections, last = path.split(".")
        inner = fields
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[last] = value
    config = transformers.AutoConfig.for_model(case.model_type, **fields)
    with torch.device("cpu"):
        built: transformers.PreTrainedModel = getattr(transformers, case.classes[0])(config)
    return built


def compared(target: Any, path: Path, weights: str = "") -> CheckpointComparison:
    return compare_checkpoint(sf.model(target), open_checkpoint(str(path)), weights)


@pytest.mark.parametrize("name", sampled(1000, NAMES, lambda name: name in SHOWN))
def test_files_of_transformers_agree(name: str, tmp_path: Path) -> None:
    model = small(name).to(torch.bfloat16)
    model.save_pretrained(tmp_path)
    found = compared(tmp_path, tmp_path)
    assert found.differences == ()
    assert found.form.weights in ("bf16", "fp32")  # some classes keep weights in float32
    stored = load_file(tmp_path / "model.safetensors")
    assert found.checkpoint.tensor_bytes == sum(each.numel() * each.element_size() for each in stored.values())
    assert len(found.checkpoint.tensors) == len(stored)
    parameters = sum(each.numel() for each in model.parameters())
    assert sum(each.row.elements for each in found.rows) == parameters
    assert found.row_bytes == found.weight_memory == 2 * parameters


def test_shards_and_their_index(tmp_path: Path) -> None:
    small("mixtral").save_pretrained(tmp_path, max_shard_size="20KB")
    index = tmp_path / "model.safetensors.index.json"
    for path in (tmp_path, index):
        found = compared(tmp_path, path)
        assert found.agrees
        assert len(found.checkpoint.files) > 1
    assert found.checkpoint.total_size == json.loads(index.read_text())["metadata"]["total_size"]
    shown = json.loads(run("show", str(index), "--json").stdout)
    assert shown["tensor_bytes"] == shown["total_size"]
    assert shown["file_bytes"] == sum(each.stat().st_size for each in tmp_path.glob("*.safetensors"))
    assert shown["model"]["params"] == sum(each.numel() for each in small("mixtral").parameters())


def test_a_folder_is_a_model_and_names_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small("llama").save_pretrained(tmp_path)
    lines = run("show", str(tmp_path)).stdout
    assert "Llama" in lines.splitlines()[0]
    assert f"symformer show {tmp_path}/model.safetensors lists" in " ".join(lines.split())
    small("llama").save_pretrained(tmp_path / "gpt2")
    monkeypatch.chdir(tmp_path)
    assert "lists the tensors" not in run("show", "gpt2").stdout  # the preset, and not the folder
    (tmp_path / "config.json").unlink()
    shown = json.loads(run("show", str(tmp_path), "--json").stdout)  # without a config, the tensors
    assert (shown["weights"], shown["model"]) == ("fp32", None)
    assert shown["parameters"] == sum(each.numel() for each in small("llama").parameters())
    assert sum(each["bytes"] for each in shown["modules"]) == shown["tensor_bytes"]


def changed(path: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> Path:
    """Write a copy of a safetensors file with changed tensors."""
    stored = load_file(path)
    change(stored)
    other = path.with_name("changed.safetensors")
    save_file(stored, other)
    return other


Q = "model.layers.1.self_attn.q_proj.weight"
# A change, and words of the line that states it.
CHANGES: Mapping[str, tuple[Callable[[dict[str, torch.Tensor]], Any], str]] = {
    "missing": (lambda stored: stored.pop(Q), "the checkpoint has 1,440 elements in 1 tensor; the model has 2,880"),
    "reshaped": (
        lambda stored: stored.update({Q: stored[Q].reshape(30, 48)}),
        "has shape 30 × 48; the model has 60 × 24",
    ),
    "other type": (lambda stored: stored.update({Q: stored[Q].half()}), "has 1 of type F16, not F32"),
    "another layer": (
        lambda stored: stored.update({Q.replace("1", "2"): stored[Q].clone()}),
        "1 tensor is not in the model: model.layers.*.self_attn.q_proj.weight",
    ),
    "unknown": (
        lambda stored: stored.update({"model.more": torch.zeros(3)}),
        "1 tensor is not in the model: model.more",
    ),
    "adapter": (
        lambda stored: stored.update({"model.layers.0.mlp.up_proj.lora_A.weight": torch.zeros(3, 24)}),
        "1 tensor is part of adapters: model.layers.*.mlp.up_proj.lora_A.weight",
    ),
}  # fmt: skip
# Tensors that transformers or its older versions store without being weights, and their description.
EXTRA = {
    "model.layers.0.self_attn.rotary_emb.inv_freq": "rotary frequencies",
    "model.layers.2.mlp.up_proj.weight": "multi-token prediction layers",  # the model has 2 layers
    "model.layers.2.eh_proj.weight": "multi-token prediction layers",
    "model.mtp.0.norm.weight": "multi-token prediction layers",
    "model.embeddings.position_ids": "position or segment ids",
    "tokenizer": "the tokenizer",
    "model.layers.0.self_attn.k_proj.k_scale": "scales of a quantized KV cache",
}


def test_changes_of_a_file_are_reported(tmp_path: Path) -> None:
    model = small("llama")
    model.save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    for change, words in CHANGES.values():
        result = run("verify", str(tmp_path), "--checkpoint", str(changed(path, change)), "--json")
        assert result.exit_code == DIFFERS, result.output
        (line,) = json.loads(result.stdout)["differences"]
        assert words in line
    printed = run("verify", str(tmp_path), "--checkpoint", str(changed(path, CHANGES["unknown"][0]))).stdout
    assert printed.count("model.more") == 1
    assert printed.endswith(" rows agree; 1 tensor is not in the model\n")
    more = changed(path, lambda stored: stored.update({name: torch.zeros(5) for name in EXTRA}))
    found = compared(tmp_path, more)
    assert found.agrees
    kinds = {tensor.name: kind for kind, tensors in found.extra.items() for tensor in tensors}
    assert kinds == EXTRA
    tied = changed(path, lambda stored: stored.update({"lm_head.weight": stored["model.embed_tokens.weight"].clone()}))
    assert list(compared({**model.config.to_dict(), "tie_word_embeddings": True}, tied).extra) == [
        "copies of tied weights"
    ]


def test_causal_masks_and_names_of_the_first_release(tmp_path: Path) -> None:
    model = small("gpt2")
    model.save_pretrained(tmp_path)

    def first_release(stored: dict[str, torch.Tensor]) -> None:
        for name in list(stored):  # the file on the Hub has no prefix, and a mask in every layer
            stored[name.removeprefix("transformer.")] = stored.pop(name)
        stored["h.0.attn.bias"] = torch.ones(1, 1, 13, 13)

    found = compared(tmp_path, changed(tmp_path / "model.safetensors", first_release))
    assert found.agrees
    assert list(found.extra) == ["causal masks"]


WIDE = {"vocab_size": 320, "hidden_size": 256, "intermediate_size": 384, "num_hidden_layers": 3}
WIDE |= {"num_attention_heads": 4, "num_key_value_heads": 2}


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a model whose widths every quantization format divides."""
    folder = tmp_path_factory.mktemp("wide")
    transformers.LlamaForCausalLM(transformers.LlamaConfig(**WIDE)).to(torch.bfloat16).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("options", "weights", "group"),
    [
        ({"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, "nf4", 64),
        ({"load_in_4bit": True, "bnb_4bit_use_double_quant": True}, "fp4-double", 64),
        ({"load_in_8bit": True}, "int8", 0),
    ],
)
def test_files_of_bitsandbytes_agree(
    wide: Path, tmp_path: Path, options: dict[str, Any], weights: str, group: int
) -> None:
    settings = transformers.BitsAndBytesConfig(**options)
    model = transformers.LlamaForCausalLM.from_pretrained(
        wide, quantization_config=settings, device_map="cpu", dtype=torch.bfloat16
    )
    model.save_pretrained(tmp_path)
    found = compared(tmp_path, tmp_path)
    assert found.differences == ()
    assert (found.form.weights, found.form.group) == (weights, group)
    assert list(found.extra) == ["bitsandbytes tables and JSON"]
    # 4 bytes of each of the 21 matrices are in JSON
    assert found.row_bytes + (84 if "double" in weights else 0) == found.weight_memory


@pytest.mark.parametrize(
    ("preset", "layout", "weights", "group"),
    [
        ("W4A16", "pack-quantized", "w4a16", 128),
        ("W4A16_ASYM", "pack-quantized", "w4a16-asym", 128),
        ("W8A16", "pack-quantized", "w8a16", 128),
        ("FP8_DYNAMIC", "float-quantized", "fp8-channel", 0),
        ("W8A8", "int-quantized", "w8a8", 0),
        ("NVFP4A16", "nvfp4-pack-quantized", "nvfp4", 0),
    ],
)
def test_files_of_compressed_tensors_agree(
    wide: Path, tmp_path: Path, preset: str, layout: str, weights: str, group: int
) -> None:
    from compressed_tensors.compressors import ModelCompressor
    from compressed_tensors.quantization import QuantizationConfig, apply_quantization_config, preset_name_to_scheme

    model = transformers.LlamaForCausalLM.from_pretrained(wide, dtype=torch.bfloat16)
    scheme = {"group_0": preset_name_to_scheme(preset, ["Linear"])}
    settings = QuantizationConfig(
        config_groups=scheme, ignore=["lm_head"], format=layout, quantization_status="initialized"
    )
    apply_quantization_config(model, settings)
    ModelCompressor(quantization_config=settings).compress_model(model)
    save_file({name: each.contiguous() for name, each in model.state_dict().items()}, tmp_path / "model.safetensors")
    found = compared(wide, tmp_path)
    assert found.differences == ()
    assert (found.form.weights, found.form.group) == (weights, group)
    assert found.row_bytes == found.weight_memory == found.checkpoint.tensor_bytes
    # An other format is named as a difference.
    assert not compared(wide, tmp_path, "bf16").agrees


def test_files_of_float_8_in_blocks_agree(wide: Path, tmp_path: Path) -> None:
    from transformers.integrations.finegrained_fp8 import replace_with_fp8_linear

    model = transformers.LlamaForCausalLM.from_pretrained(wide, dtype=torch.bfloat16)
    settings = transformers.FineGrainedFP8Config(weight_block_size=(128, 128))
    with torch.device("cpu"):
        replace_with_fp8_linear(model, modules_to_not_convert=["lm_head"], quantization_config=settings)
    stored = {name: torch.empty_like(each, device="cpu") for name, each in model.state_dict().items()}
    save_file(stored, tmp_path / "model.safetensors")
    found = compared(wide, tmp_path)
    assert found.differences == ()
    assert found.form.weights == "fp8-block"
    assert found.row_bytes == found.weight_memory


def test_scales_of_inputs_belong_to_the_rows_of_a_format_that_counts_them(wide: Path, tmp_path: Path) -> None:
    stored = {}
    for name, weight in load_file(wide / "model.safetensors").items():
        stored[name] = weight
        if name.endswith("_proj.weight"):
            stored[name] = weight.to(torch.float8_e4m3fn)
            for scale in ("weight_scale", "input_scale"):
                stored[name.removesuffix("weight") + scale] = torch.ones(1, dtype=torch.bfloat16)
    save_file(stored, tmp_path / "model.safetensors")
    found = compared(wide, tmp_path)
    assert (found.differences, found.form.weights, found.extra) == ((), "fp8-tensor", {})
    assert found.checkpoint.tensor_bytes == found.weight_memory


def test_rows_that_a_file_stores_as_one_matrix(wide: Path, tmp_path: Path) -> None:
    stored = load_file(wide / "model.safetensors")
    for layer in range(3):
        names = [f"model.layers.{layer}.self_attn.{name}_proj.weight" for name in "qkv"]
        stored[names[0].replace("q_proj", "qkv_proj")] = torch.cat([stored.pop(name) for name in names])
    save_file(stored, tmp_path / "model.safetensors")
    found = compared(wide, tmp_path)
    assert found.agrees
    (joined,) = (each for each in found.rows if "qkv_proj (q_proj, k_proj, v_proj)" in each.row.path)
    assert (joined.row.shape, joined.bytes) == ((512, 256), 3 * 512 * 256 * 2)


def test_parts_of_a_gguf_file(tmp_path: Path) -> None:
    kind = GGMLQuantizationType.F32
    whole = 0
    for number, name in enumerate(("token_embd", "output"), 1):
        path = tmp_path / f"m-0000{number}-of-00002.gguf"
        whole += gguf_file(path, "llama", {f"{name}.weight": ((3, 32 * number), kind)}, gguf.LlamaFileType.ALL_F32)
    for target in (path, tmp_path):
        shown = json.loads(run("show", str(target), "--json").stdout)
        assert (len(shown["files"]), shown["tensor_bytes"]) == (2, whole) == (2, 3 * 96 * 4)


def sparse(path: Path, tensors: Mapping[str, tuple[str, tuple[int, ...], int]]) -> Path:
    """Write a safetensors file of types, shapes and bytes, whose data is a hole in the file."""
    header, end = {}, 0
    for name, (type_, shape, size) in tensors.items():
        header[name] = {"dtype": type_, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    os.truncate(path, 8 + len(text) + end)
    return path


def gptq_of_qwen2_7b() -> dict[str, tuple[str, tuple[int, ...], int]]:
    """Return the tensors of Qwen2-7B-Instruct-GPTQ-Int4: 5,575,277,568 bytes on the Hub."""
    found: dict[str, tuple[str, tuple[int, ...], int]] = {}

    def half(name: str, *shape: int) -> None:
        found[name] = ("F16", shape, 2 * int(np.prod(shape)))

    half("model.embed_tokens.weight", 152_064, 3_584)
    half("lm_head.weight", 152_064, 3_584)
    half("model.norm.weight", 3_584)
    for layer in range(28):
        before = f"model.layers.{layer}"
        half(f"{before}.input_layernorm.weight", 3_584)
        half(f"{before}.post_attention_layernorm.weight", 3_584)
        for name, rows, cols in (
            ("self_attn.q_proj", 3_584, 3_584),
            ("self_attn.k_proj", 512, 3_584),
            ("self_attn.v_proj", 512, 3_584),
            ("self_attn.o_proj", 3_584, 3_584),
            ("mlp.gate_proj", 18_944, 3_584),
            ("mlp.up_proj", 18_944, 3_584),
            ("mlp.down_proj", 3_584, 18_944),
        ):
            module = f"{before}.{name}"
            found[f"{module}.qweight"] = ("I32", (cols // 8, rows), cols * rows // 2)
            found[f"{module}.qzeros"] = ("I32", (cols // 128, rows // 8), cols // 128 * rows // 2)
            half(f"{module}.scales", cols // 128, rows)
            found[f"{module}.g_idx"] = ("I32", (cols,), 4 * cols)
            if name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"):
                half(f"{module}.bias", rows)
    return found


def test_published_gptq_checkpoint(tmp_path: Path) -> None:
    path = sparse(tmp_path / "model.safetensors", gptq_of_qwen2_7b())
    config = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "vocab_size": 152_064}
    config |= {"hidden_size": 3_584, "intermediate_size": 18_944, "num_hidden_layers": 28, "num_attention_heads": 28}
    config |= {"num_key_value_heads": 4, "tie_word_embeddings": False, "use_sliding_window": False}
    found = compared(config, path)
    assert found.differences == ()
    assert (found.form.weights, found.form.group) == ("gptq", 128)
    assert found.checkpoint.tensor_bytes == found.row_bytes == found.weight_memory == 5_575_277_568
    (first, *_) = compared(config, path, "awq").differences  # which has no group indices: 28 · 4 · 3,584 bytes fewer
    assert "group indices 401,408 and 0" in first


def gguf_file(path: Path, architecture: str, tensors: Mapping[str, tuple[tuple[int, ...], GGMLQuantizationType]],
              mixture: gguf.LlamaFileType, tokens: int = 7) -> int:  # fmt: skip
    """Write the header of a GGUF file by the gguf package, with a hole as its data; return the bytes of the tensors."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_file_type(mixture)
    writer.add_token_list([f"token {number}" for number in range(tokens)])
    writer.add_token_types([1] * tokens)
    whole, padded = 0, 0
    for name, (shape, type_) in tensors.items():
        block, size = GGML_QUANT_SIZES[type_]
        stored = int(np.prod(shape)) // block * size
        if type_ is GGMLQuantizationType.F32:
            writer.add_tensor_info(name, shape, np.dtype(np.float32), stored)
        else:
            in_bytes = (*shape[:-1], shape[-1] // block * size)
            writer.add_tensor_info(name, in_bytes, np.dtype(np.uint8), stored, raw_dtype=type_)
        whole += stored
        padded += -(-stored // 32) * 32
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    os.truncate(path, -(-path.stat().st_size // 32) * 32 + padded)
    return whole


# Our name of an architecture -> llama.cpp's, if it differs otherwise than by its dashes.
GGUF_NAMES = {"ministral3": "llama", "mistral": "llama", "mixtral": "llama", "qwen3-moe": "qwen3moe"}
GGUF_NAMES |= {"seed-oss": "seed_oss"}


@pytest.mark.parametrize("name", sampled(3, sorted(CONVERTED - MIXTURES_OF.keys()), lambda name: name == "mixtral"))
def test_gguf_files_with_the_names_of_the_gguf_package_agree(name: str, tmp_path: Path) -> None:
    model = small(name)
    architecture = GGUF_NAMES.get(name, name)
    (number,) = (each for each, text in MODEL_ARCH_NAMES.items() if text == architecture)
    table = get_tensor_name_map(number, 9)
    tensors = {}
    for theirs, weight in model.state_dict().items():
        if theirs == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        shape = tuple(weight.shape)
        parts = [(theirs, shape)]
        if theirs.endswith("gate_up_proj"):  # the converter splits them
            half = (shape[0], shape[1] // 2, shape[2])
            parts = [(theirs.replace("gate_up_proj", part), half) for part in ("gate_proj", "up_proj")]
        for each, cut in parts:
            known = table.get_name(each, try_suffixes=(".weight", ".bias"))
            assert known is not None, each
            is_float = len(cut) == 1 or "ffn_gate_inp" in known
            suffix = "" if known.endswith((".weight", ".bias")) else ".weight"
            tensors[known + suffix] = (cut, GGMLQuantizationType.F32 if is_float else GGMLQuantizationType.F16)
    path = tmp_path / "model.gguf"
    whole = gguf_file(path, architecture, tensors, gguf.LlamaFileType.MOSTLY_F16)
    config = tmp_path / "config.json"
    config.write_text(model.config.to_json_string())
    found = compared(config, path)
    assert found.differences == ()
    assert found.checkpoint.tensor_bytes == found.row_bytes == found.weight_memory == whole
    reader = gguf.GGUFReader(path)
    theirs = {each.name: (each.tensor_type.name, each.n_bytes, list(each.shape)[::-1]) for each in reader.tensors}
    assert {each.name: (each.type, each.bytes, list(each.shape)) for each in found.checkpoint.tensors} == theirs
    assert found.checkpoint.header_bytes == reader.data_offset
    # One tensor of another type is a difference.
    worse = next(each for each in tensors if "attn_output.weight" in each)
    tensors[worse] = (tensors[worse][0], GGMLQuantizationType.F32)
    gguf_file(path, architecture, tensors, gguf.LlamaFileType.MOSTLY_F16)
    (line,) = compared(config, path).differences
    assert "of F32; the model" in line


def test_published_q4_k_m_of_llama_3_1(tmp_path: Path) -> None:
    """The file has 4,912,898,304 bytes of tensors in 292 tensors; the types are those that llama-quantize prints."""
    types = GGMLQuantizationType
    tensors = {"token_embd.weight": ((128_256, 4_096), types.Q4_K), "rope_freqs.weight": ((64,), types.F32)}
    for layer in range(32):
        better = layer < 4 or layer >= 28 or layer % 3 == 0  # 6, 9, ..., 27, as (layer - 4) mod 3 = 2
        down = types.Q6_K if better else types.Q4_K
        for name, shape, type_ in (
            ("attn_norm", (4_096,), types.F32),
            ("ffn_norm", (4_096,), types.F32),
            ("attn_q", (4_096, 4_096), types.Q4_K),
            ("attn_k", (1_024, 4_096), types.Q4_K),
            ("attn_v", (1_024, 4_096), down),
            ("attn_output", (4_096, 4_096), types.Q4_K),
            ("ffn_gate", (14_336, 4_096), types.Q4_K),
            ("ffn_up", (14_336, 4_096), types.Q4_K),
            ("ffn_down", (4_096, 14_336), down),
        ):
            tensors[f"blk.{layer}.{name}.weight"] = (shape, type_)
    tensors |= {"output_norm.weight": ((4_096,), types.F32), "output.weight": ((128_256, 4_096), types.Q6_K)}
    path = tmp_path / "model.gguf"
    assert gguf_file(path, "llama", tensors, gguf.LlamaFileType.MOSTLY_Q4_K_M) == 4_912_898_304
    result = run("verify", "llama-3.1-8b", "--checkpoint", str(path))
    assert result.exit_code == 0
    assert "292" in result.stdout
    assert "13 of 13 rows agree" in result.stdout
    shown = json.loads(run("show", str(path), "--json").stdout)
    assert (shown["tensor_bytes"], shown["weights"], shown["tensors"]) == (4_912_898_304, "gguf:q4_k_m", 292)
    assert shown["parameters"] == 8_030_261_312  # with the 64 factors
    assert run("verify", "llama-3-8b", "--checkpoint", str(path)).exit_code == 0  # the factors are named as extra
    assert run("verify", "llama-2-7b", "--checkpoint", str(path)).exit_code == DIFFERS


def test_published_gpt_oss_20b(tmp_path: Path) -> None:
    """ggml-org's file has 12,109,566,560 bytes, with a header of 13,008,224: 65 for each of 201,088 tokens."""
    types = GGMLQuantizationType
    tensors = {
        "token_embd.weight": ((201_088, 2_880), types.Q8_0),
        "output.weight": ((201_088, 2_880), types.Q8_0),
        "output_norm.weight": ((2_880,), types.F32),
    }
    for layer in range(24):
        for name, shape in (("attn_q", (4_096, 2_880)), ("attn_k", (512, 2_880)), ("attn_v", (512, 2_880))):
            tensors[f"blk.{layer}.{name}.weight"] = (shape, types.Q8_0)
            tensors[f"blk.{layer}.{name}.bias"] = (shape[:1], types.F32)
        tensors[f"blk.{layer}.attn_output.weight"] = ((2_880, 4_096), types.Q8_0)
        tensors[f"blk.{layer}.attn_output.bias"] = ((2_880,), types.F32)
        tensors[f"blk.{layer}.attn_sinks.weight"] = ((64,), types.F32)
        tensors[f"blk.{layer}.attn_norm.weight"] = ((2_880,), types.F32)
        tensors[f"blk.{layer}.post_attention_norm.weight"] = ((2_880,), types.F32)
        tensors[f"blk.{layer}.ffn_gate_inp.weight"] = ((32, 2_880), types.F32)
        tensors[f"blk.{layer}.ffn_gate_inp.bias"] = ((32,), types.F32)
        for name in ("ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"):
            tensors[f"blk.{layer}.{name}.weight"] = ((32, 2_880, 2_880), types.MXFP4)
            tensors[f"blk.{layer}.{name}.bias"] = ((32, 2_880), types.F32)
    path = tmp_path / "model.gguf"
    whole = gguf_file(path, "gpt-oss", tensors, gguf.LlamaFileType.MOSTLY_MXFP4_MOE)
    assert whole == 12_109_566_560 - 13_008_224
    found = compared("gpt-oss-20b", path)
    assert found.differences == ()
    assert (found.weight_memory, found.extra) == (whole, {})


def test_torch_is_not_imported(wide: Path) -> None:
    import subprocess

    program = (
        "import sys; from symformer.commands.cli import cli\n"
        f"try: cli(['verify', {str(wide)!r}, '--checkpoint', {str(wide)!r}])\n"
        "except SystemExit as status: assert not status.code\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


ONE = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}


def header(fields: object, data: int = 8, length: int | None = None) -> bytes:
    text = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + bytes(data)


def key(name: bytes, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + value


def tensor_info(name: bytes, dims: tuple[int, ...], kind: int, place: int) -> bytes:
    sizes = struct.pack(f"<{len(dims)}Q", *dims)
    return struct.pack("<Q", len(name)) + name + struct.pack("<I", len(dims)) + sizes + struct.pack("<IQ", kind, place)


def gguf_bytes(keys: tuple[bytes, ...] = (), tensors: tuple[bytes, ...] = (), data: int = 0, version: int = 3) -> bytes:
    start = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join((*keys, *tensors))
    return start + bytes(-len(start) % 32 + data)


def of_list(item: int, count: int) -> bytes:
    """Return a GGUF file with a list that states its number of items and has none."""
    return gguf_bytes((key(b"k", 9, struct.pack("<IQ", item, count)),))


NO_FILE = "only safetensors and GGUF files are supported"
INDEX = "a.safetensors.index.json"
# A name of a file, its bytes, and words of the only line on standard error.
BAD: Mapping[str, tuple[str, bytes, str]] = {
    "empty": ("a.safetensors", b"", "is empty"),
    "empty gguf": ("a.gguf", b"", "is empty"),
    "no header": ("a.safetensors", b"{}", "has 2 bytes and no header"),
    "truncated": ("a.safetensors", header(ONE, 3), "not fully covered"),
    "header longer than the file": ("a.safetensors", header(ONE, 0, 9_999), "9,999 bytes, but the file has"),
    "huge header": ("a.safetensors", header(ONE, 0, 2**62), "more than the limit of 50,000,000"),
    "overlap": ("a.safetensors", header({**ONE, "b": ONE["a"]}), "invalid offset for tensor"),
    "unknown type": ("a.safetensors", header({"a": {**ONE["a"], "dtype": "F99"}}), "unknown variant `F99`"),
    "overflow": ("a.safetensors", header({"a": {**ONE["a"], "shape": [2**62, 8]}}), "overflow"),
    "nested": ("a.safetensors", header(b"[" * 50_000), "is not a valid safetensors file"),
    "not JSON": ("a.safetensors", header(b"{'a'"), "is not a valid safetensors file"),
    "pickle": ("pytorch_model.bin", b"\x80\x02}q\x00.", NO_FILE),
    "pickle index": ("pytorch_model.bin.index.json", b"{}", NO_FILE),
    "no GGUF": ("a.gguf", b"GGML" + bytes(99), "does not begin with GGUF"),
    "short GGUF": ("a.gguf", b"GGUF" + struct.pack("<I", 3), "is truncated or damaged"),
    "version": ("a.gguf", gguf_bytes(version=77), "has format version 77"),
    "big-endian": ("a.gguf", gguf_bytes(version=3 << 24), "is big-endian (version 3)"),
    "many keys": ("a.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "more than the limits"),
    "long list": ("a.gguf", of_list(4, 2**60), f"more than the limit of {MAX_ITEMS:,}"),
    "list after the end": ("a.gguf", of_list(4, 10**7), "is truncated or damaged"),
    "long string": ("a.gguf", gguf_bytes((key(b"k", 8, struct.pack("<Q", 2**63)),)), "is truncated or damaged"),
    "nested list": ("a.gguf", of_list(9, 2), "a list of the unsupported type 9"),
    "unknown value": ("a.gguf", gguf_bytes((key(b"k", 99, b""),)), "has the unknown type 99"),
    "unknown GGUF type": ("a.gguf", gguf_bytes((), (tensor_info(b"a", (32,), 999, 0),), 128), "the type 999 of 'a'"),
    "GGUF block": ("a.gguf", gguf_bytes((), (tensor_info(b"a", (33,), 8, 0),), 128), "rows of 33 elements"),
    "truncated GGUF": ("a.gguf", gguf_bytes((), (tensor_info(b"a", (32,), 0, 0),), 96), "its tensors end at byte"),
    "GGUF overlap": (
        "a.gguf",
        gguf_bytes((), (tensor_info(b"a", (32,), 0, 0), tensor_info(b"b", (32,), 0, 64)), 256),
        "'b' overlaps 'a'",
    ),
    "GGUF twice": (
        "a.gguf",
        gguf_bytes((), (tensor_info(b"a", (32,), 0, 0), tensor_info(b"a", (32,), 0, 128)), 256),
        "two tensors with the name 'a'",
    ),
    "many dimensions": ("a.gguf", gguf_bytes((), (tensor_info(b"a", (2,) * 9, 0, 0),), 4096), "'a' has 9 dimensions"),
    "alignment": ("a.gguf", gguf_bytes((key(b"general.alignment", 4, struct.pack("<I", 3)),)), "a power of two"),
    "index without a map": (INDEX, b"{}", "has no 'weight_map'"),
    "index of numbers": (INDEX, b'{"weight_map": {"a": 3}}', "has no 'weight_map'"),
    "index not JSON": (INDEX, b"[" * 99_999, "is not valid JSON"),
    "missing shard": (INDEX, b'{"weight_map": {"a": "b.safetensors"}}', "b.safetensors, which does not exist"),
    "outside": (INDEX, b'{"weight_map": {"a": "../x.safetensors"}}', "names the file '../x.safetensors'"),
    "absolute": (INDEX, b'{"weight_map": {"a": "/x.safetensors"}}', "names the file '/x.safetensors'"),
    "shard of another kind": (INDEX, b'{"weight_map": {"a": "x.bin"}}', "names the file 'x.bin'"),
    "missing part": ("a-00001-of-00002.gguf", gguf_bytes(), "a-00002-of-00002.gguf does not exist"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_with_one_sentence(case: str, tmp_path: Path) -> None:
    name, content, words = BAD[case]
    path = tmp_path / name
    path.write_bytes(content)
    for command in (["verify", "llama-2-7b", "--checkpoint", str(path)], ["show", str(path)]):
        result = run(*command)
        assert result.exit_code == REFUSED, result.output
        assert words in " ".join(result.stderr.split())
        assert not result.stdout


def test_folders_and_paths_that_are_no_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "loop.safetensors").symlink_to(tmp_path / "loop.safetensors")
    (tmp_path / "folder.safetensors").mkdir()
    (tmp_path / "several").mkdir()
    for name in ("a.safetensors", "b.safetensors"):
        (tmp_path / "several" / name).write_bytes(header(ONE))
    (tmp_path / "pickled").mkdir()
    (tmp_path / "pickled" / "pytorch_model.bin").write_bytes(b"\x80")
    os.mkfifo(tmp_path / "pipe.gguf")
    for name, words in {
        "loop.safetensors": "symbolic links",
        "folder.safetensors": "has no .safetensors or .gguf file",
        "several": "has several checkpoint files and no index (a.safetensors, b.safetensors)",
        "pickled": "has no safetensors or GGUF file, but pytorch_model.bin",
        "pipe.gguf": "is not a regular file",
        "none.safetensors": "does not exist",
    }.items():
        result = run("verify", "llama-2-7b", "--checkpoint", str(tmp_path / name))
        assert result.exit_code == REFUSED
        assert words in " ".join(result.stderr.split()), result.stderr


def test_an_index_that_does_not_match_its_files(tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(header(ONE))
    index = tmp_path / "model.safetensors.index.json"
    for names, words in ((["a", "b"], "lists 'b' in x.safetensors, which does not contain it"), ([], "weight_map")):
        index.write_text(json.dumps({"weight_map": dict.fromkeys(names, "x.safetensors")}))
        assert words in " ".join(run("show", str(index)).stderr.split())
    (tmp_path / "x.safetensors").write_bytes(header({**ONE, "c": {**ONE["a"], "data_offsets": [8, 16]}}, 16))
    index.write_text(json.dumps({"weight_map": {"a": "x.safetensors"}}))
    assert "does not list 'c', which x.safetensors contains" in " ".join(run("show", str(index)).stderr.split())


def test_odd_names_are_printed_safely(tmp_path: Path) -> None:
    """Names can contain control characters and anything that looks like a path or a layer."""
    odd = "a\x1b[2J\n.*(..).99999999999999999999.\u202e/../../x"
    path = tmp_path / "a.safetensors"
    path.write_bytes(header({odd: ONE["a"], "": {**ONE["a"], "data_offsets": [8, 16]}}, 16))
    for command in (["verify", "llama-2-7b", "--checkpoint", str(path)], ["show", str(path)]):
        result = run(*command)
        assert result.exit_code in (0, DIFFERS), result.output
        assert "\x1b" not in result.stdout


def test_options_that_do_not_apply_to_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(header(ONE))
    for command in (
        ["verify", "gpt2", "bert", "--checkpoint", str(path)],
        ["verify", "gpt2", "--checkpoint", str(path), "--seed", "3"],
        ["show", str(path), "-q", "flops"],
    ):
        assert run(*command).exit_code == REFUSED


def test_files_of_mlx(tmp_path: Path) -> None:
    """mlx-community/Llama-3.2-1B-Instruct-4bit has 695,283,921 bytes, of which 41,169 are the header."""
    tensors: dict[str, tuple[str, tuple[int, ...], int]] = {"model.norm.weight": ("BF16", (2_048,), 4_096)}

    def packed(module: str, rows: int, cols: int) -> None:
        tensors[f"{module}.weight"] = ("U32", (rows, cols // 8), rows * cols // 2)
        for name in ("scales", "biases"):
            tensors[f"{module}.{name}"] = ("BF16", (rows, cols // 64), rows * cols // 32)

    packed("model.embed_tokens", 128_256, 2_048)
    for layer in range(16):
        before = f"model.layers.{layer}"
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{before}.{name}.weight"] = ("BF16", (2_048,), 4_096)
        for name, rows in (("q_proj", 2_048), ("k_proj", 512), ("v_proj", 512), ("o_proj", 2_048)):
            packed(f"{before}.self_attn.{name}", rows, 2_048)
        packed(f"{before}.mlp.gate_proj", 8_192, 2_048)
        packed(f"{before}.mlp.up_proj", 8_192, 2_048)
        packed(f"{before}.mlp.down_proj", 2_048, 8_192)
    found = compared("llama-3.2-1b", sparse(tmp_path / "model.safetensors", tensors))
    assert found.differences == ()
    assert (found.form.weights, found.form.group) == ("mlx-4", 64)
    assert found.checkpoint.tensor_bytes == found.weight_memory == 695_283_921 - 41_169
    assert "weights=mlx-4 (MLX) and a header of 41,169 bytes" in sf.explain("llama-3.2-1b", "695283921").reason
