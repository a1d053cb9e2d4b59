"""Weight formats, against the buffers of the libraries that write them and published sizes of checkpoints."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Mapping
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from sympy import Integer, Rational

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.errors import OptionError, RuleError, SizeError
from symformer.language.symbols import D, E, G, H, L, L_better, M, V, X, Z_group
from symformer.quantities.weight_formats import LINEAR_FORMATS, MEANINGS
from symformer.quantities.weight_formats.gguf_mixtures import MIXTURES, BetterLayers, layers_with
from symformer.quantities.weight_formats.gguf_types import BLOCKS, FALLBACKS
from symformer.views.convention_table import alternatives

NUMBERS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("serving.json").read_text("utf-8"))
TINY: dict[str, int] = {"V": 517, "E": 256, "H": 640, "L": 3, "A": 8, "G": 2, "D": 32}  # of a Llama


def ours(name: str, rows: int, cols: int, group: int | None = None) -> int:
    """Return our bytes of one matrix."""
    form = LINEAR_FORMATS[name]
    sizes = {size: Integer(group or number) for size, number in form.defaults.items()}
    for divisor, size in form.divides(Integer(rows), Integer(cols)):
        assert (size / divisor).xreplace(sizes).is_integer, (name, rows, cols)
    parts = form.parts(Integer(rows), Integer(cols))
    found = sum(prod(factor.xreplace(sizes) for factor in part.factors) for part in parts)
    assert found.is_Integer
    return int(found)


def held(tensors: Mapping[str, torch.Tensor] | list[torch.Tensor]) -> int:
    """Return the bytes of tensors."""
    every = list(tensors.values()) if isinstance(tensors, Mapping) else tensors
    assert every
    return sum(each.numel() * each.element_size() for each in every)


def shapes(seed: int, rows: int = 1, cols: int = 1, count: int = 20) -> list[tuple[int, int]]:
    """Return random shapes whose rows and columns are multiples of these numbers and differ."""
    draw = random.Random(seed)  # noqa: S311
    found = [(rows * draw.randint(1, 640 // rows), cols * draw.randint(1, 768 // cols)) for _ in range(count)]
    assert len(set(found)) > count // 2
    return [(high, wide) for high, wide in found if high != wide]


def test_every_gguf_type_has_the_block_of_the_gguf_library() -> None:
    gguf = import_module("gguf")
    theirs = {kind.name.lower(): sizes for kind, sizes in gguf.GGML_QUANT_SIZES.items()}
    compared = [name for name in BLOCKS if name in theirs]
    assert {name: theirs[name] for name in compared} == {name: BLOCKS[name] for name in compared}
    assert len(compared) >= 25
    unknown = {*BLOCKS} - {*compared}
    assert unknown <= {"q1_0", "nvfp4", "mxfp4"}, unknown
    assert all(BLOCKS[other][0] == 32 for other in FALLBACKS.values())  # each has a smaller block


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("kind", ["nf4", "fp4"])
def test_four_bit_blocks_have_the_buffers_of_bitsandbytes(kind: str, double: bool) -> None:
    functional = import_module("bitsandbytes.functional")
    for seed, group in enumerate((64, 128)):
        for rows, cols in shapes(seed, count=10):
            codes, state = functional.quantize_4bit(
                torch.ones(rows, cols), blocksize=group, quant_type=kind, compress_statistics=double
            )
            kept = [codes, state.absmax, *([state.state2.absmax, state.offset] if double else [])]
            assert ours(f"{kind}-double" if double else kind, rows, cols, group) == held(kept), (rows, cols, group)


def test_eight_bit_rows_have_the_buffers_of_bitsandbytes() -> None:
    linear = import_module("bitsandbytes").nn.Linear8bitLt
    for rows, cols in shapes(2):
        kept = linear(cols, rows, bias=False, has_fp16_weights=False).to("cpu").state_dict()
        kept.pop("weight_format")  # one byte that says in which order the codes are
        assert ours("int8", rows, cols) == held(kept), (rows, cols)


# Our name, the preset of compressed-tensors, and the numbers that divide the rows and the columns.
COMPRESSED = {
    "w4a16": ("W4A16", 1, 128), "w8a16": ("W8A16", 1, 128), "w2a16": ("W2A16", 1, 128), "w3a16": ("W3A16", 1, 128),
    "w4a16-asym": ("W4A16_ASYM", 8, 128), "w8a8": ("W8A8", 1, 1), "fp8-channel": ("FP8_DYNAMIC", 1, 1),
    "fp8-tensor": ("FP8", 1, 1), "mxfp4": ("MXFP4A16", 1, 32), "mxfp6": ("MXFP6A16", 1, 32),
    "mxfp8": ("MXFP8A16", 1, 32), "nvfp4": ("NVFP4A16", 1, 16),
}  # fmt: skip


def compressed(preset: str, module: torch.nn.Module, ignore: tuple[str, ...] = ()) -> dict[str, torch.Tensor]:
    """Return the tensors of a module that compressed-tensors compressed."""
    library = import_module("compressed_tensors")
    from compressed_tensors.quantization import QuantizationConfig, apply_quantization_config, preset_name_to_scheme

    scheme = preset_name_to_scheme(preset, ["Linear"])
    config = QuantizationConfig(config_groups={"group": scheme}, ignore=[*ignore])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        apply_quantization_config(module, config, show_progress=False)
        library.ModelCompressor(quantization_config=config).compress_model(module)
    return module.state_dict()


@pytest.mark.parametrize("name", COMPRESSED)
def test_safetensors_formats_have_the_tensors_of_compressed_tensors(name: str) -> None:
    preset, rows, cols = COMPRESSED[name]
    for high, wide in shapes(len(preset), rows, cols, count=8):
        linear = torch.nn.Sequential(torch.nn.Linear(wide, high, bias=False, dtype=torch.bfloat16))
        assert ours(name, high, wide) == held(compressed(preset, linear)), (high, wide)


def test_fp8_blocks_have_the_tensors_of_transformers() -> None:
    from transformers.integrations.finegrained_fp8 import FP8Linear

    for rows, cols in shapes(7):
        with torch.device("meta"):
            linear = FP8Linear(cols, rows, block_size=(128, 128))
        assert ours("fp8-block", rows, cols) == held(linear.state_dict()), (rows, cols)


def tiny_llama() -> torch.nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=517, hidden_size=256, intermediate_size=640, num_hidden_layers=3, num_attention_heads=8,
        num_key_value_heads=2, head_dim=32, tie_word_embeddings=False,
    )  # fmt: skip
    return LlamaForCausalLM(config).to(torch.bfloat16)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["w4a16", "fp8-channel", "nvfp4"])
def test_a_whole_model_has_the_bytes_that_compressed_tensors_stores(name: str) -> None:
    theirs = compressed(COMPRESSED[name][0], tiny_llama(), ignore=("lm_head",))
    model = sf.model("llama").set(TINY)
    assert model.formula("weight-memory", weights=name).value() == held(theirs)


def test_the_experts_of_gpt_oss_have_the_codes_of_transformers() -> None:
    """The class has no scales before a checkpoint is loaded; the published total of gpt-oss below contains them."""
    from transformers import AutoConfig
    from transformers.integrations.mxfp4 import Mxfp4GptOssExperts

    config = AutoConfig.for_model("gpt_oss", hidden_size=96, intermediate_size=160, num_local_experts=7)
    with torch.device("meta"):
        theirs = Mxfp4GptOssExperts(config)
    kept = {name: each for name, each in theirs.named_parameters() if "bias" not in name}
    formula = sf.model("gpt-oss").formula("weight-memory", weights="mxfp4-experts")
    terms = [term for _, line in formula.root.leaves() for term in line.terms if term.label.endswith("(codes)")]
    assert sum(term.expr.subs({E: 96, M: 160, X: 7}) for term in terms) == held(kept)


def of_file(facts: Mapping[str, Any]) -> sf.Model:
    """Return the model whose tensors a published file holds."""
    family = "qwen2" if facts.get("qkv_bias") else "qwen3" if facts.get("qk_norm") else "llama"
    names = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    config = {name: facts[name] for name in (*names, "num_key_value_heads", "head_dim")}
    config |= {"model_type": family, "tie_word_embeddings": facts["tied_in_file"]}
    if facts.get("rope_factors_f32"):
        config["rope_scaling"] = {
            "rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        }  # fmt: skip
    if family == "qwen2":
        config.pop("head_dim")  # the fields of Qwen2 have no head dimension: 896/14, 1536/12, 2048/16, 3584/28
    return sf.from_config(config)


FILES = {each["id"]: each for each in NUMBERS if each["id"].startswith(("gguf-file", "gguf-tensors"))}


@pytest.mark.parametrize("name", FILES)
def test_gguf_mixtures_have_the_sizes_of_published_files(name: str) -> None:
    """A file is a header and the tensors. The header is the same for all files of a repository, or was worked out."""
    each, facts = FILES[name], FILES[name]["facts"]
    header = facts.get("header_bytes", 0)
    if "rest" in each["note"]:  # "tensors by the rules 7,365,089,280; rest 745,440 is the header"
        header = int(each["note"].partition("rest ")[2].partition(" ")[0].replace(",", ""))
    assert header > 700_000 or each["quantity"] == "gguf-tensor-bytes"
    kind = each["format"].partition(":")[2].lower()
    assert of_file(facts).formula("weight-memory", weights=f"gguf:{kind}").value() == each["value"] - header


# Published files of models with one matrix for queries, keys and values, or with experts, and their headers. All
# files of bartowski's phi-4 have the same header: 35 bytes for each of 100,352 tokens.
FUSED = {
    ("phi-3-mini-4k", "q4_k_m"): (2_393_231_072, 737_504),  # microsoft/Phi-3-mini-4k-instruct-gguf
    ("phi-4", "q3_k_m"): (7_363_269_056, 3_555_776),  # bartowski/phi-4-GGUF
    ("phi-4", "q4_k_m"): (9_053_114_816, 3_555_776),
    ("phi-4", "q5_k_m"): (10_604_188_096, 3_555_776),
    ("gpt-oss-20b", "mxfp4_moe"): (12_109_566_560, 13_008_224),  # ggml-org/gpt-oss-20b-GGUF
}


@pytest.mark.parametrize(("target", "kind"), FUSED)
def test_gguf_mixtures_of_fused_matrices(target: str, kind: str) -> None:
    size, header = FUSED[target, kind]
    assert sf.model(target).formula("weight-memory", weights=f"gguf:{kind}").value() == size - header
    tokens = sf.model(target).known[V]
    assert header % 32 == 0
    assert 20 * tokens < header < 65 * tokens


def test_gguf_types_of_fused_matrices_are_those_of_a_log() -> None:
    """llama.cpp prints of Phi-3-mini Q4_K_M: 65 tensors f32, 81 q4_K, 32 q5_K, 17 q6_K; 2.23 GiB (5.01 BPW)."""
    table, square, wide = 32_064 * 3_072, 3_072**2, 3_072 * 8_192
    blocks = 144 * (table + 32 * (square + 2 * wide) + 16 * wide) + 176 * 32 * 3 * square + 210 * (table + 16 * wide)
    model = sf.model("phi-3-mini-4k")
    value = model.formula("weight-memory", weights="gguf:q4_k_m").value()
    assert value == blocks // 256 + 65 * 3_072 * 4
    assert (round(value / 2**30, 2), round(8 * value / model.params.value(), 2)) == (2.23, 5.01)


def test_gguf_mixtures_of_eight_experts() -> None:
    """Mixtral 8x7B: 26.49 GiB of Q4_K_M, 46.22 of Q8_0, 35.74 of Q6_K, as llama-bench prints; gpt-oss-120b 59.02."""
    for target, kind, size in (
        ("mixtral-8x7b", "q4_k_m", 26.49),
        ("mixtral-8x7b", "q8_0", 46.22),
        ("mixtral-8x7b", "q6_k", 35.74),
        ("gpt-oss-120b", "mxfp4_moe", 59.02),
    ):
        value = sf.model(target).formula("weight-memory", weights=f"gguf:{kind}").value()
        assert round(value / 2**30, 2) == size
    with pytest.raises(RuleError, match="of which only files of type gguf:mxfp4_moe were compared"):
        sf.model("gpt-oss-20b").formula("weight-memory", weights="gguf:q4_k_m")


# Sizes of published Q4_K_M files, as stated in lists of downloads.
DOWNLOADS = {
    "gemma-2-2b": 1_708_582_752,  # bartowski/gemma-2-2b-it-GGUF
    "gemma-2-9b": 5_761_057_728,  # bartowski/gemma-2-9b-it-GGUF
    "gemma-3-4b-text": 2_489_757_856,  # ggml-org/gemma-3-4b-it-GGUF
    "gemma-3-12b-text": 7_300_574_976,  # ggml-org/gemma-3-12b-it-GGUF
    "qwen3-30b-a3b": 18_556_685_824,  # Qwen/Qwen3-30B-A3B-GGUF
    "smollm3-3b": 1_915_305_312,  # ggml-org/SmolLM3-3B-GGUF
    "olmo-2-7b": 4_472_020_256,  # allenai/OLMo-2-1124-7B-Instruct-GGUF
    "afm-4.5b": 2_916_301_824,  # arcee-ai/AFM-4.5B-GGUF
    "seed-oss-36b": 21_762_149_024,  # bartowski/ByteDance-Seed_Seed-OSS-36B-Instruct-GGUF
    "ministral-3-3b-text": 2_147_023_008,  # mistralai/Ministral-3-3B-Instruct-2512-GGUF
    "ministral-3-8b-text": 5_198_911_904,  # mistralai/Ministral-3-8B-Instruct-2512-GGUF
}


@pytest.mark.parametrize("target", DOWNLOADS)
def test_downloads_have_a_header_and_the_tensors(target: str) -> None:
    """The header has 3.5 to 8.5 MB, by the size of the tokenizer. It and every tensor are padded to 32 bytes."""
    model = sf.model(target)
    formula = model.formula("weight-memory", weights="gguf:q4_k_m")
    numbers = formula.with_totals(model.known)
    tensors = [
        (int(count.subs(numbers)), int(term.expr.subs(numbers)))
        for count, line in formula.root.leaves()
        for term in line.terms
    ]
    assert sum(count * size for count, size in tensors) == formula.value()
    padding = sum(count * (-size % 32) for count, size in tensors if count == 1)
    header = DOWNLOADS[target] - formula.value() - padding
    assert header % 32 == 0
    assert 3_500_000 < header < 8_500_000


def test_the_layers_with_better_types_have_a_letter() -> None:
    """Q4_K_M of Llama: Q6_K (210 bytes for 256 elements) instead of Q4_K (144) for the values and down projections."""
    formula = sf.model("llama-3.1-8b").formula("weight-memory", weights="gguf:q4_k_m")
    extra = formula.display_expr.coeff(L_better)
    assert (extra - Rational(210 - 144, 256) * E * (G * D + H)).expand() == 0
    # 32 layers: the first and the last 4, and every third of the 24 in between
    assert formula.with_totals(sf.model("llama-3.1-8b").known)[L_better] == 4 + 4 + 8


def test_two_files_of_one_family_differ_by_the_names_of_their_tensors() -> None:
    """Gemma 2 9B has 16 layers more than 2B, each with 13 tensors, whose names and shapes take 50 to 90 bytes each."""
    headers = [
        DOWNLOADS[name] - sf.model(name).formula("weight-memory", weights="gguf:q4_k_m").value()
        for name in ("gemma-2-2b", "gemma-2-9b")
    ]
    assert 16 * 13 * 45 < headers[1] - headers[0] < 16 * 13 * 90


def more(layer: int, layers: int) -> bool:
    """Return whether a layer has the better type, as in ``use_more_bits`` of llama.cpp."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


def test_the_number_of_layers_with_a_better_type_is_that_of_a_loop_over_the_layers() -> None:
    for layers in range(1, 130):
        counted = {
            BetterLayers.MORE: sum(more(layer, layers) for layer in range(layers)),
            BetterLayers.EIGHTH: sum(layer < layers // 8 for layer in range(layers)),
            BetterLayers.SIXTEENTH: sum(layer < layers // 16 for layer in range(layers)),
            BetterLayers.FOUR: sum(layer < 4 for layer in range(layers)),
            BetterLayers.TWO: sum(layer < 2 for layer in range(layers)),
            BetterLayers.MIDDLE: sum(layers // 8 <= layer < 7 * layers // 8 for layer in range(layers)),
        }
        assert {each: layers_with(each, L).subs(L, layers) for each in BetterLayers} == counted, layers


def formats_of_rows() -> dict[str, tuple[str, int | None]]:
    """Return our format and its elements per group for the rows of NUMBERS about one matrix."""
    presets = {preset.removesuffix("A16"): name for name, (preset, _, _) in COMPRESSED.items()}
    presets |= {preset: name for name, (preset, _, _) in COMPRESSED.items()} | {"W7A16": "w7a16"}
    found: dict[str, tuple[str, int | None]] = {
        "bnb-int8-1000x640": ("int8", None),
        "exl3-4bpw-4096x14336": ("exl3", None),
        "gptq-int4-g128-4096x11008": ("gptq", 128),
    }
    for each in NUMBERS:
        name, facts = each["id"], each["facts"]
        if name.startswith("bnb-nf4-") and "file" not in name:
            found[name] = ("nf4-double" if facts["double_quant"] else "nf4", facts["blocksize"])
        elif name.startswith("ct-") and each["format"].partition(":")[2] in presets:
            form = presets[each["format"].partition(":")[2]]
            found[name] = (form, 128 if "Z_group" in map(str, LINEAR_FORMATS[form].defaults) else None)
    return found


MATRICES = formats_of_rows()


@pytest.mark.parametrize("name", MATRICES)
def test_single_matrices_have_the_collected_bytes(name: str) -> None:
    (each,) = [each for each in NUMBERS if each["id"] == name]
    facts = each["facts"]
    rows, cols = (facts.get("rows", facts.get("out_features")), facts.get("cols", facts.get("in_features")))
    form, group = MATRICES[name]
    if name in ("ct-nvfp4-256x512",):  # 4 bytes more, for the scale of the input
        assert ours(form, rows, cols, group) + 4 == each["value"]
        return
    assert each["exact"]
    assert ours(form, rows, cols, group) == each["value"]


@pytest.mark.parametrize("name", [each["id"] for each in NUMBERS if each["id"].startswith("gguf-matrix")])
def test_gguf_matrices_have_the_collected_bytes(name: str) -> None:
    (each,) = [each for each in NUMBERS if each["id"] == name]
    block, size = BLOCKS[each["format"].partition(":")[2].lower()]
    assert each["facts"]["rows"] * each["facts"]["cols"] // block * size == each["value"]


# Published totals of checkpoints, or of the format's own layout.
CHECKPOINTS: dict[str, tuple[str, dict[str, int], int]] = {
    "gpt-oss-20b": ("", {}, 13_761_264_768),  # total_size of model.safetensors.index.json
    "gpt-oss-120b": ("", {}, 65_248_815_744),
    "llama-3-8b": ("bf16", {}, 16_060_522_496),
    "llama-3.1-8b": ("gguf:q4_k_m", {}, 4_912_898_304),  # with 64 factors of rotary frequencies
    "mistral-7b-v0.1": ("gguf:q4_k_m", {}, 4_367_704_064),
    # the published 364,589,799,936 also stores the biases of the routers, 2 bytes each: 58 * 256 * 2 = 29,696
    "deepseek-v3": ("awq", {"Z_group": 64}, 364_589_799_936 - 29_696),
}


@pytest.mark.parametrize("target", CHECKPOINTS)
def test_whole_checkpoints_have_the_published_bytes(target: str) -> None:
    form, sizes, published = CHECKPOINTS[target]
    model = sf.model(target).set(sizes)
    assert model.formula("weight-memory", **({"weights": form} if form else {})).value() == published


QWEN2 = {
    "model_type": "qwen2", "vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944,
    "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "tie_word_embeddings": False,
}  # fmt: skip


def test_a_config_states_its_own_format() -> None:
    stated = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
    model = sf.from_config({**QWEN2, "quantization_config": stated})
    assert model.params.value() == 7_615_616_512
    assert model.formula("weight-memory").value() == 5_575_277_568  # total_size of Qwen2-7B-Instruct-GPTQ-Int4
    # 2 * 28 * 4 * 128 elements of keys and values for each of 7 tokens in bf16, and 152,064 logits of 4 bytes
    cached = 2 * 28 * 4 * 128 * 7 * 2 + 4 * 152_064
    assert model.formula("inference-memory").value(B=1, C=7) == 5_575_277_568 + cached
    with pytest.raises(RuleError, match=r"train-memory of .* quantized by gptq with 4 bits"):
        model.formula("train-memory")


PACKED = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True}
PACK_QUANTIZED = {
    "quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"],
    "config_groups": {"group_0": {"targets": ["Linear"], "weights": PACKED}},
}  # fmt: skip
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128}
NF4 = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
# Schemes whose weights are stored in another way than the named format stores them, and fields of the wrong type.
OTHER_SCHEMES: dict[str, dict[str, Any]] = {
    "a quantized LM head": {**PACK_QUANTIZED, "ignore": []},
    "no list of modules": {key: value for key, value in PACK_QUANTIZED.items() if key != "ignore"},
    "2:4 sparsity": {**PACK_QUANTIZED, "sparsity_config": {"format": "sparse-24-bitmask"}},
    "transforms": {**PACK_QUANTIZED, "transform_config": {"config_groups": {"u": {}}}},
    "bits that are not an integer": {
        **PACK_QUANTIZED, "config_groups": {"group_0": {"targets": ["Linear"], "weights": {**PACKED, "num_bits": 4.0}}},
    },
    "a group without fields": {**PACK_QUANTIZED, "config_groups": {"group_0": None}},
    "a group with a number": {**PACK_QUANTIZED, "config_groups": {"group_0": {"targets": ["Linear"], "weights": 4}}},
    "modules as a number": {**AWQ, "modules_to_not_convert": 5},
    "modules as a nested list": {**AWQ, "modules_to_not_convert": [["lm_head"]]},
    "experts with modules as a number": {"quant_method": "mxfp4", "modules_to_not_convert": 5},
    "the layout of Marlin": {**GPTQ, "is_marlin_format": True},
    "layers that GPTQ keeps": {**GPTQ, "modules_to_not_convert": ["model.layers.0"]},
    "an LM head of bitsandbytes": {**NF4, "llm_int8_skip_modules": []},
    "4 and 8 bits": {**NF4, "load_in_8bit": True},
    "layers that FP8 ignores": {**FP8, "ignored_layers": ["model.layers.0.mlp.down_proj"]},
    "scales of inputs": {**FP8, "activation_scheme": "static"},
}  # fmt: skip


def test_a_config_of_compressed_tensors_has_its_format() -> None:
    assert sf.from_config({**QWEN2, "quantization_config": PACK_QUANTIZED}).provenance.weights == "w4a16"


@pytest.mark.parametrize("scheme", OTHER_SCHEMES)
def test_a_scheme_with_other_bytes_is_refused(scheme: str) -> None:
    model = sf.from_config({**QWEN2, "quantization_config": OTHER_SCHEMES[scheme]})
    assert model.params.value() == 7_615_616_512
    with pytest.raises(RuleError, match=r"weight-memory of .* quantized by"):
        model.formula("weight-memory")


def test_an_unsupported_scheme_is_refused_for_what_depends_on_it_only() -> None:
    stated = {"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"lm_head": {"bits": 8}}}
    model = sf.from_config({**QWEN2, "quantization_config": stated})
    assert model.params.value() == 7_615_616_512
    with pytest.raises(RuleError, match=r"weight-memory of .* quantized by gptq with 4 bits"):
        model.formula("weight-memory")
    assert model.formula("weight-memory", weights="bf16").value() == 2 * 7_615_616_512


def test_inference_memory_is_the_weights_the_cache_and_the_logits() -> None:
    """Worked out by hand for a Llama of TINY with AWQ: 3 layers, 2 of 4 heads of 32 ... (arithmetic below)."""
    model = sf.model("llama").set(TINY).set({"Z_group": 64})
    attention = 2 * 256 * 256 + 2 * 64 * 256  # q and o, k and v
    mlp = 3 * 640 * 256
    layer = (attention + mlp) // 2 + (attention + mlp) // 64 * 5 // 2 + 2 * 2 * 256  # codes, zeros and scales, norms
    weights = 3 * layer + 2 * (2 * 517 * 256 + 256)
    assert model.formula("weight-memory", weights="awq").value() == weights
    found = model.formula("inference-memory", weights="awq").value(B=5, C=7)
    assert found == weights + 5 * 7 * 2 * 3 * 2 * 32 * 2 + 5 * 517 * 4


REFUSED: dict[str, tuple[str, dict[str, int], str]] = {
    "a width without a fallback": ("awq", {"E": 200, "A": 5, "D": 40, "G": 5}, "is not a multiple of Z_group=128"),
    "a width of MXFP4": ("mxfp4", {"E": 100, "A": 5, "D": 20, "G": 5}, "is not a multiple of 32"),
    "a width of Q8_0": ("gguf:q8_0", {"E": 100, "A": 5, "D": 20, "G": 5}, "blocks of 32 elements"),
}


@pytest.mark.parametrize("blocks", [16, 63, 96, 8192])
def test_a_block_size_that_bitsandbytes_does_not_have_is_refused(blocks: int) -> None:
    """It has the powers of two from 32 to 4,096."""
    with pytest.raises(SizeError, match=f"Z_group={blocks} .*weights=nf4 has no groups of this size"):
        sf.model("llama").set({**TINY, "Z_group": blocks}).formula("weight-memory", weights="nf4").value()


@pytest.mark.parametrize("case", REFUSED)
def test_a_width_that_a_format_does_not_store_is_refused(case: str) -> None:
    form, sizes, message = REFUSED[case]
    model = sf.model("llama").set({**TINY, **sizes})
    with pytest.raises((RuleError, SizeError), match=message):
        model.formula("weight-memory", weights=form).value()


def test_the_type_for_another_width_is_not_used_for_a_multiple_of_the_block() -> None:
    formula = sf.model("llama").set({**TINY, "E": 160, "A": 5, "G": 5}).formula("weight-memory", weights="gguf:q4_k_m")
    assert "Q5_0" in str([term.label for _, line in formula.root.leaves() for term in line.terms])
    with pytest.raises(SizeError, match="a multiple of 256"):
        formula.value(E=256, A=8, G=8)


def test_rules_that_depend_on_a_number_are_refused_at_other_numbers() -> None:
    formula = sf.model("llama").set(TINY).formula("weight-memory", weights="gguf:q4_k_m")
    with pytest.raises(SizeError, match="80"):
        formula.value(L=80)
    with pytest.raises(RuleError, match="depends on A"):
        sf.model("llama").formula("weight-memory", weights="gguf:q2_k")


def test_models_whose_files_were_not_compared_are_refused() -> None:
    for target in ("gpt2", "deepseek-v3", "mamba", "falcon-7b"):
        with pytest.raises(RuleError, match="GGUF files were not compared"):
            sf.model(target).formula("weight-memory", weights="gguf:q4_0")
    with pytest.raises(RuleError, match="the role of every weight"):
        sf.model("hf:afmoe").formula("weight-memory", weights="awq")
    with pytest.raises(OptionError, match="did you mean"):
        sf.model("gpt2").formula("weight-memory", weights="gguf:q4")


def test_every_format_is_documented_and_answers_a_llama() -> None:
    """Every format has more bytes than the same number of bits without scales, and none more than float32."""
    model = sf.model("llama").set({**TINY, "E": 512, "H": 1024, "A": 16, "G": 4})
    count = model.params.value()
    for name in MEANINGS:
        if name == "symbolic":
            continue
        found = model.formula("weight-memory", weights=name).value()
        assert count / 8 < found <= 4 * count, name
    assert {f"gguf:{name}" for name in MIXTURES} <= {*MEANINGS}
    assert Z_group in LINEAR_FORMATS["awq"].defaults


EXPLAINED = {
    ("gpt-oss-20b", "13.76 GB"): "is the size of the weights as published (weights=mxfp4-experts) of gpt-oss-20b",
    ("llama-3.1-8b", "4,912,898,304"): "with weights=gguf:q4_k_m (a GGUF file of type Q4_K_M): 4,912,898,304, exactly",
    ("qwen2-7b", "5575277568"): "with weights=gptq (GPTQ): 5,575,277,568, exactly",
}


@pytest.mark.parametrize(("target", "number"), EXPLAINED)
def test_explain_knows_the_formats_of_checkpoints(target: str, number: str) -> None:
    assert EXPLAINED[target, number] in sf.explain(target, number).reason


def test_gate_and_up_of_each_expert_are_two_matrices() -> None:
    """As in published checkpoints, which have ``experts.0.w1``, ``w2`` and ``w3``."""
    sizes = {"V": 264, "E": 128, "L": 3, "A": 4, "G": 2, "D": 32, "X": 5, "K": 2, "M": 384}
    model = sf.model("mixtral").set(sizes)
    vectors = 2 * (2 * 264 * 128 + 128) + 3 * 2 * (2 * 128 + 5 * 128)  # tables, norms and routers
    matrices = [(128, 128), (128, 64), (128, 64), (128, 128), *[(128, 384), (128, 384), (384, 128)] * 5]
    gptq = sum(i * o // 2 + i // 128 * o // 2 + 2 * (i // 128) * o + 4 * i for i, o in matrices)
    assert model.formula("weight-memory", weights="gptq").value() == vectors + 3 * gptq
    nvfp4 = sum(i * o // 2 + i * o // 16 + 4 for i, o in matrices)
    assert model.formula("weight-memory", weights="nvfp4").value() == vectors + 3 * nvfp4
    # 192 rows of each of two matrices are two blocks of 128 each, not three together
    assert model.set({"M": 192}).formula("weight-memory", weights="fp8-block").value() == vectors + 3 * sum(
        i * o + 4 * -(-i // 128) * -(-o // 128) for i, o in [*matrices[:4], *[(128, 192), (128, 192), (192, 128)] * 5]
    )


@pytest.mark.parametrize("target", ["llama-3.1-8b", "llama-2-7b"])  # with factors of rotary frequencies, and without
def test_gguf_formulas_have_a_derivation(target: str, tmp_path: Path) -> None:
    """Among the presets that a document compares are some of 80 layers, for which llama-quantize has other rules."""
    file = tmp_path / "gguf.md"
    options = ["-q", "weight-memory", "--option", "weights=gguf:q4_k_m", "-o", str(file)]
    found = CliRunner().invoke(cli, ["derive", target, *options], prog_name="symformer")
    assert found.exit_code == 0, found.output
    assert file.read_text().count("Q6_K") > 1


def test_the_table_of_conventions_has_the_bytes_of_every_format() -> None:
    """GPT-2 with AWQ: 4 bits, and 2.5 bytes for each 128 of the 12 E^2 elements of a layer."""
    rows = {each.choice: each.value for each in alternatives(sf.model("gpt2"), "weight-memory", {})}
    matrices = 12 * 12 * 768 * 768
    kept = 2 * (12 * 13 * 768 + (50257 + 1024 + 2) * 768)
    assert rows["awq"] == matrices // 2 + matrices // 128 * 5 // 2 + kept
