"""A config.json determines the sizes exactly, or one sentence names the wrong field, its value and the remedy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch
import transformers

from symformer import SymformerError, from_config
from symformer.architectures import (
    architecture,
    architecture_class,
    model_types,
    names,
    presets,
    registry,
    torch_classes,
)
from symformer.architectures.base_architecture import (
    Architecture,
    BoolField,
    Choice,
    Field,
    Fields,
    WitnessSpec,
    option,
    usual,
)
from symformer.architectures.bases.llama_like import LlamaLike
from symformer.configs.architecture_lookup import TYPES, reader
from symformer.language.symbols import SYMBOLS, E, H

from .samples import sampled

# A config for each model type, with its expected class, and sizes that all differ.
CONFIGS: list[tuple[str, dict[str, Any]]] = [
    ("GPT2LMHeadModel", {"vocab_size": 29, "n_positions": 13, "n_embd": 12, "n_layer": 5, "n_head": 3}),
    ("GPT2LMHeadModel", {"vocab_size": 29, "n_positions": 13, "n_embd": 12, "n_layer": 5, "n_head": 3, "n_inner": 7}),
    ("GPT2Model", {"vocab_size": 29, "n_positions": 13, "n_embd": 12, "n_layer": 5, "n_head": 3}),
    ("GPT2LMHeadModel", {"n_embd": 24, "n_head": 4, "tie_word_embeddings": False}),
    ("BertModel", {"vocab_size": 29, "hidden_size": 12, "num_attention_heads": 3, "intermediate_size": 7}),
    ("BertForMaskedLM", {"vocab_size": 29, "hidden_size": 12, "num_attention_heads": 3, "type_vocab_size": 4}),
    ("BertForPreTraining", {"max_position_embeddings": 29, "hidden_size": 12, "num_attention_heads": 3}),
    ("LlamaForCausalLM", {"vocab_size": 29, "hidden_size": 24, "num_attention_heads": 6, "num_hidden_layers": 5}),
    ("LlamaForCausalLM", {"hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10}),
    ("LlamaForCausalLM", {"hidden_size": 24, "num_attention_heads": 6, "attention_bias": True, "mlp_bias": True}),
    ("LlamaForCausalLM", {"hidden_size": 24, "num_attention_heads": 6, "tie_word_embeddings": True}),
    ("MistralForCausalLM", {"hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10}),
    ("MistralModel", {"hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 2, "sliding_window": None}),
    ("MixtralForCausalLM", {"hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10}),
    ("MixtralModel", {"num_local_experts": 5, "num_experts_per_tok": 3, "intermediate_size": 7}),
    ("DeepseekV3ForCausalLM", {"num_hidden_layers": 7, "first_k_dense_replace": 2, "n_shared_experts": 3}),
    ("DeepseekV3Model", {"num_hidden_layers": 5, "n_routed_experts": 16, "q_lora_rank": None, "v_head_dim": 20}),
    (
        "Gemma2ForCausalLM",
        {"hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 3, "num_hidden_layers": 5},
    ),
    ("Gemma2Model", {"hidden_size": 24, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3}),
    ("LlamaModel", {"hidden_size": 24, "num_attention_heads": 6, "intermediate_size": 7}),
]


def class_of(name: str) -> Any:
    """Return a class of transformers, or of the package's own models, by the name in an architecture."""
    module, _, attribute = name.rpartition(":")
    return getattr(import_module(module) if module else transformers, attribute)


def torch_total(name: str, config: Any) -> int:
    with torch.device("meta"):
        model = class_of(name)(config)
    model.tie_weights()
    total = sum(parameter.numel() for parameter in model.parameters())
    assert total > 0
    return total


@pytest.mark.parametrize(("name", "fields"), CONFIGS, ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("short", [False, True], ids=["whole", "differences only"])
def test_configs_written_by_transformers_are_read(
    name: str, fields: dict[str, Any], short: bool, tmp_path: Path
) -> None:
    """Both forms in which transformers writes a config: all fields, and only those that differ from the default."""
    config = getattr(transformers, name).config_class(**fields, architectures=[name])
    path = tmp_path / "config.json"
    path.write_text(config.to_json_string(use_diff=short), "utf-8")
    assert from_config(str(path)).params.value() == torch_total(name, config)


def test_null_window_means_no_window(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    for fields, window in (({}, 4_096), ({"sliding_window": 7}, 7), ({"sliding_window": None}, None)):
        path.write_text(json.dumps({"model_type": "mistral", **fields}), "utf-8")
        model = from_config(str(path))
        assert model.known.get(SYMBOLS["C_win"]) == window
        # 2*32*8*128 elements per token, 2 bytes each; the window leaves one position for the new token
        kept = 9_000 if window is None else window - 1
        assert model.formula("kv-cache").value(B=1, C=9_000) == 2 * 2 * 32 * 8 * 128 * kept
    path.write_text(json.dumps({"model_type": "mistral", "sliding_window": 1}), "utf-8")
    with pytest.raises(SymformerError, match=r"C_win=1 .* is less than 2; choose a larger value"):
        from_config(str(path))


def test_layers_of_two_kinds(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "deepseek_v3", "num_hidden_layers": 7}), "utf-8")
    known = from_config(str(path)).known
    assert (known[SYMBOLS["L_dense"]], known[SYMBOLS["L_moe"]]) == (3, 4)
    path.write_text(json.dumps({"model_type": "deepseek_v3", "num_hidden_layers": 3}), "utf-8")
    with pytest.raises(SymformerError, match="'num_hidden_layers' is 3 and 'first_k_dense_replace' is 3, which leaves"):
        from_config(str(path))


LOCAL, GLOBAL = "sliding_attention", "full_attention"


@pytest.mark.parametrize(
    ("fields", "layers"),
    [
        ({}, (13, 13)),
        ({"num_hidden_layers": 7}, (4, 3)),  # every other one, starting with the first
        ({"num_hidden_layers": 3, "layer_types": [GLOBAL, LOCAL, GLOBAL]}, (1, 2)),
    ],
)
def test_full_and_sliding_window_layers(fields: dict[str, Any], layers: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "gemma2", **fields}), "utf-8")
    known = from_config(str(path)).known
    assert (known[SYMBOLS["L_local"]], known[SYMBOLS["L_global"]]) == layers


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"num_hidden_layers": 1}, "no layer of the kind 'full_attention'"),
        ({"layer_types": "all"}, "'layer_types' is not a list of sliding_attention and full_attention"),
        (
            {"layer_types": [LOCAL, "linear"]},
            "'layer_types' contains 'linear' in the config; only sliding_attention",
        ),
        (
            {"layer_types": [LOCAL, GLOBAL], "num_hidden_layers": 3},
            "has 2 layers in the config, but 'num_hidden_layers'",
        ),
    ],
)
def test_unknown_layer_kinds_are_refused(fields: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "gemma2", **fields}), "utf-8")
    with pytest.raises(SymformerError, match=sentence):
        from_config(str(path))


OLD_NAMES = [
    {"model_type": "gpt2", "n_embd": 12, "n_head": 3, "n_layer": 5, "n_positions": 13, "n_ctx": 13, "vocab_size": 29},
    {"model_type": "gpt2", "hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 5,
     "max_position_embeddings": 13, "vocab_size": 29},
]  # fmt: skip


@pytest.mark.parametrize("config", OLD_NAMES)
def test_old_and_new_field_names(config: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), "utf-8")
    # 12*5*144 + 13*5*12 + 29*12 + 13*12 + 2*12
    assert from_config(str(path)).params.value() == 8640 + 780 + 348 + 156 + 24


# The fields without which a default config of transformers is not supported: it lacks a number of experts or of
# key/value heads, dense layers or layers with experts, or its class rounds the head dimension or needs it. All other
# fields may be missing.
NO_DEFAULT: dict[str, dict[str, Any]] = {
    "deepseek-v2": {"num_experts_per_tok": 6, "first_k_dense_replace": 1},
    "dots1": {
        **{"n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1},
        "sliding_window": None,
    },
    "bamba": {"attn_layer_indices": [9, 18, 27]},
    "falcon-h1": {"mamba_d_head": 8},
    "granitemoehybrid": {"layer_types": ["linear_attention"] * 31 + ["full_attention"]},
    "lfm2": {"full_attn_idxs": [2, 5, 8]},
    "lfm2-moe": {"layer_types": ["conv"] * 31 + ["full_attention"]},
    **{name: {"head_dim": 128} for name in ("glm4-moe", "hunyuan-v1-dense", "hunyuan-v1-moe")},
    "nemotron": {"num_key_value_heads": 8},
    "qwen3-vl": {"vision_config": {"out_hidden_size": 4096}},  # the class's own default, 3584, is not its hidden size
    "gemma4": {"hidden_size_per_layer_input": 0},
    "esm": {"vocab_size": 33, "position_embedding_type": "rotary"},
    "deberta-v2": {
        **{"position_buckets": 7, "relative_attention": True, "share_att_key": True, "norm_rel_ebd": "layer_norm"},
        **{"pos_att_type": ["p2c", "c2p"], "position_biased_input": False},
    },
    "nemotron-h": {"layers_block_type": ["linear_attention", "mlp", "full_attention", "mlp"]},
    "dinov3-vit": {"num_register_tokens": 4},  # the default of 0 is not supported
    "m2m-100": {"encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0},  # others skip layers in training
    **{name: {"layerdrop": 0.0} for name in ("hubert", "wav2vec2")},  # others skip layers in training
    "sam": {"global_attn_indexes": [2, 5, 8, 11]},
    "gemma3-multimodal": {"mm_tokens_per_image": 49},  # 256 tokens of 14*14 patches are not supported
}


WITH_A_CONFIG_CLASS = [
    name
    for name in names()
    if architecture_class(name).fields.model_types and architecture_class(name).witness.library == "transformers"
]


@pytest.mark.parametrize("name", sampled(3, WITH_A_CONFIG_CLASS))
def test_omitted_fields_have_the_defaults_of_transformers(name: str, tmp_path: Path) -> None:
    made_by, given = architecture_class(name), NO_DEFAULT.get(name, {})
    path = tmp_path / "config.json"
    class_name = made_by.fields.class_for(made_by())
    for field in [name for name, value in given.items() if value is not None]:
        path.write_text(json.dumps({"model_type": made_by.fields.model_types[0], **given} | {field: None}), "utf-8")
        with pytest.raises(SymformerError, match=f"'{field}['.]"):
            from_config(str(path))
    path.write_text(json.dumps({"model_type": made_by.fields.model_types[0], **given}), "utf-8")
    config = class_of(class_name).config_class(**given)
    assert from_config(str(path)).params.value() == torch_total(class_name, config)


def test_every_model_type_is_read_by_one_architecture() -> None:
    read = [model_type for name in names() for model_type in model_types(name)]
    assert len(read) == len(set(read)) > 5


def test_config_imports_only_its_architecture(tmp_path: Path) -> None:
    """The architecture is found by its file name, or else by the model type stated in the file."""
    loaded: list[str] = []

    def types(name: str) -> tuple[str, ...]:
        loaded.append(name)
        return model_types(name)

    for name in names():
        for model_type in model_types(name):
            loaded.clear()
            assert reader("config.json", {"model_type": model_type}, registry.files, types, torch_classes) == (name, "")
            naming = [each for each, file in registry.files.items() if f'"{model_type}"' in file.read_text("utf-8")]
            assert loaded[-1] == name
            assert {*loaded} <= {name, model_type.replace("_", "-"), *naming}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(GPT2))
    code = f"""
import sys, symformer
from symformer.architectures import registry
symformer.from_config({str(path)!r}).params
print([name for name, file in registry.files.items() if f"symformer.architectures.{{file.stem}}" in sys.modules])
"""
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "['gpt2']\n"
    )


READABLE = [name for name, facts in presets().items() if architecture_class(facts["architecture"]).fields.model_types]


@pytest.mark.parametrize("target", READABLE)
def test_written_config_is_read_back(target: str) -> None:
    model = architecture(target)
    component = model.component
    assert isinstance(component, Architecture)
    options, numbers = component.fields.read(component.fields.write(component, model.known))
    assert {**options, **component.fields.classes[component.fields.class_for(component)]}.items() >= options.items()
    assert numbers == {name: model.known[name] for name in numbers}


GPT2 = {"model_type": "gpt2", "n_embd": 12, "n_head": 3}
LLAMA = {"model_type": "llama", "hidden_size": 24, "num_attention_heads": 6}
BAD: list[tuple[Any, str]] = [
    ("", "is empty"),
    ("   \n", "is empty"),
    ("{", "is not valid JSON"),
    ("nonsense", "is not valid JSON"),
    ("[1, 2]", "contains a list"),
    ('"gpt2"', "contains a string"),
    ("7", "contains a single value"),
    ("null", "contains null"),
    ({}, "has no 'model_type'"),
    ({"model_type": 7}, "'model_type' is 7"),
    (
        {"model_type": "rings"},
        "'model_type' is 'rings', which no built-in architecture supports",
    ),
    ({**GPT2, "n_embd": "12"}, "'n_embd' is '12', which is not an integer"),
    ({**GPT2, "n_embd": 12.0}, "'n_embd' is 12.0, which is not written as an integer; write 12"),
    ({**GPT2, "n_embd": True}, "'n_embd' is True, which is not an integer"),
    ({**GPT2, "n_embd": [12]}, "'n_embd' is [12], which is not an integer"),
    ({**GPT2, "n_layer": -3}, "'n_layer' is -3; a size is an integer from 1"),
    ({**GPT2, "n_layer": 0}, "'n_layer' is 0; a size"),
    ({**GPT2, "vocab_size": 10**400}, "'vocab_size' is a number of 401 digits"),
    ({**GPT2, "n_head": 5}, "E=12 is not a multiple of A=5"),
    ({**GPT2, "hidden_size": 24}, "sets E (hidden size) twice: 'n_embd' = 12 and 'hidden_size' = 24"),
    ({**GPT2, "add_cross_attention": True}, "'add_cross_attention' is True in the config"),
    ({"model_type": "bert", "position_embedding_type": "relative_key"}, "only 'absolute' is supported"),
    (
        {**GPT2, "tie_word_embeddings": "yes"},
        "'tie_word_embeddings' is 'yes' in the config, which is neither true nor false",
    ),
    (
        {**GPT2, "architectures": ["GPT2ForSequenceClassification"]},
        "'GPT2ForSequenceClassification', whose head is not",
    ),
    ({**GPT2, "architectures": "GPT2LMHeadModel"}, "it should be a list of one class name"),
    ({**GPT2, "architectures": ["GPT2Model", "GPT2LMHeadModel"]}, "it should be a list of one class name"),
    ({**GPT2, "architectures": []}, "it should be a list of one class name"),  # as refused by a trace
    ({**LLAMA, "num_key_value_heads": 4}, "A=6 is not a multiple of G=4 (query heads, key/value heads)"),
    ({**LLAMA, "hidden_size": 25}, "the config has no D, and its default E/A is not an integer for A=6, E=25"),
    ({**LLAMA, "head_dim": 7}, "D=7 is not a multiple of 2 (head dimension)"),
]


@pytest.mark.parametrize(("config", "sentence"), BAD, ids=lambda value: value[:40] if isinstance(value, str) else "")
def test_invalid_configs_give_a_one_sentence_error(config: Any, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(config if isinstance(config, str) else json.dumps(config), "utf-8")
    with pytest.raises(SymformerError) as caught:
        from_config(str(path))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_required_field_is_named() -> None:
    fields = architecture_class("palm").fields
    with pytest.raises(SymformerError, match=r"the config has no 'width', and E \(hidden size\) has no default"):
        fields.read({"vocabulary": 29})


def test_files_that_are_not_configs_are_refused(tmp_path: Path) -> None:
    binary = tmp_path / "weights.json"
    binary.write_bytes(b"\xff\xfe\x00{}")
    huge = tmp_path / "huge.json"
    huge.write_text('{"a": "' + "x" * 16_000_001 + '"}')
    for path, sentence in [
        (tmp_path / "missing.json", "does not exist"),
        (tmp_path / "folder.json", "is a folder"),
        (binary, "is not UTF-8 text"),
        (huge, "is larger than 16,000,000 bytes"),
    ]:
        if sentence == "is a folder":
            path.mkdir()
        with pytest.raises(SymformerError, match=sentence):
            from_config(str(path))


def test_devices_and_pipes_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unlimited sizes and times: a device without an end, and a pipe without a writer."""
    monkeypatch.setattr("symformer.configs.config_json.PATIENCE", 0.05)
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    (tmp_path / "null.json").symlink_to("/dev/null")
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    os.mkfifo(tmp_path / "pipe.json")
    for name, sentence in [
        ("zero.json", "is neither a file nor a pipe"),
        ("null.json", "is neither a file nor a pipe"),
        ("loop.json", "cannot be read"),
        ("pipe.json", "is a pipe without a writer"),
        ("x" * 300 + ".json", "cannot be read: File name too long"),
        ("zero\0.json", "is not a valid path: embedded null byte"),
    ]:
        with pytest.raises(SymformerError, match=sentence):
            from_config(str(tmp_path / name))


@pytest.mark.parametrize(("wide", "sentence"), [(16_000_000, "is larger than 16,000,000 bytes"), (0, "")])
def test_pipe_is_read_up_to_the_limit(wide: int, sentence: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")

    def write() -> None:
        with suppress(BrokenPipeError), (tmp_path / "pipe.json").open("w", encoding="utf-8") as pipe:
            pipe.write(json.dumps(GPT2)[:9])
            pipe.flush()
            pipe.write(json.dumps(GPT2)[9:] + " " * wide)

    writer = Thread(target=write)
    writer.start()
    if sentence:
        with pytest.raises(SymformerError, match=sentence):
            from_config(str(tmp_path / "pipe.json"))
    else:
        assert from_config(str(tmp_path / "pipe.json")).known[SYMBOLS["E"]] == 12
    writer.join(10)


def test_three_megabyte_config_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**GPT2, "id2label": {str(index): "x" * 90 for index in range(30_000)}}), "utf-8")
    assert path.stat().st_size > 3_000_000
    assert from_config(str(path)).known[SYMBOLS["E"]] == 12


@pytest.mark.parametrize(
    "text",
    [
        '{"model_type": "gpt2", "n_embd": 12, "n_embd": 768}',
        '{"model_type": "gpt2", "id2label": {"n_embd": 1, "n_embd": 1}}',
        '{"model_type": "gpt2", "n_embd": 12, "n_\\u0065mbd": 12}',
    ],
)
def test_duplicate_key_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, "utf-8")
    with pytest.raises(SymformerError, match="has the key 'n_embd' twice in one object; keep one"):
        from_config(str(path))


def test_config_keeps_an_explicit_width(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**GPT2, "n_inner": 7}), "utf-8")
    model = from_config(str(path))
    assert SYMBOLS["H"] in model.params.symbols
    with pytest.raises(SymformerError, match="was simplified with H = 4E, which is 48 and not 7"):
        architecture("gpt2").params.value(str(path))
    path.write_text(json.dumps({**GPT2, "n_inner": 48}), "utf-8")
    assert from_config(str(path)).params.code() == architecture("gpt2").params.code()


@dataclass(frozen=True, kw_only=True)
class _Narrow(LlamaLike):
    """Llama, with an option under another name, an additional option, and its own field."""

    title = "Narrow"
    config = Fields(usual({E: 64, H: Field(("wide",), 4 * E)}), fixed={"clip": (None,)}, inert=("seed",))
    witness = WitnessSpec("Narrow")

    tied: bool = option(BoolField("share", True))
    gated: bool = option(Choice("form", {"plain": False, "gated": True}, "gated"))


def test_config_fields_extend_those_of_the_bases() -> None:
    fields, base = _Narrow.fields, LlamaLike.config
    assert (_Narrow.tied, _Narrow.gated, _Narrow.activation) == (True, True, "silu")
    assert list(fields.options) == ["tied", "activation", "attention_dropout", "gated"]
    assert fields.options["tied"] == BoolField("share", True)
    assert fields.options["activation"] == architecture_class("llama").fields.options["activation"]
    assert base.rotary
    assert fields.rotary
    assert not base.sizes
    assert fields.inert == (*base.inert, "seed")
    assert fields.classes == {"NarrowForCausalLM": {"head": "lm"}, "NarrowModel": {"head": "none"}}
    assert fields.model_types == (__name__.rpartition(".")[2],)
    options, numbers = fields.read({"share": False, "hidden_size": 10, "seed": 3})
    assert (options["tied"], options["gated"], numbers) == (False, True, {E: 10, H: 40})
    with pytest.raises(SymformerError, match="'tie_word_embeddings'"):
        fields.read({"tie_word_embeddings": False})


def test_class_name_decides_for_unknown_model_types(tmp_path: Path) -> None:
    """DeepseekV3ForCausalLM under an unknown model type; a type that transformers has is never read as another one."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**GPT2, "model_type": "my_gpt", "architectures": ["GPT2LMHeadModel"]}))
    found = from_config(str(path))
    assert found.id == "gpt2"
    assert found.params.value() == from_config_of({**GPT2, "architectures": ["GPT2LMHeadModel"]}, tmp_path)
    (said,) = found.provenance.assumed
    assert said == "model_type 'my_gpt' is unknown; the class GPT2LMHeadModel determines the model"
    path.write_text(json.dumps({**GPT2, "model_type": "align", "architectures": ["GPT2LMHeadModel"]}))
    with pytest.raises(SymformerError, match="'align', which no built-in architecture supports"):
        from_config(str(path))


def from_config_of(config: dict[str, Any], folder: Path) -> int:
    path = folder / "other.json"
    path.write_text(json.dumps(config))
    found = from_config(str(path)).params.value()
    assert isinstance(found, int)
    return found


def test_config_without_a_class_states_the_assumed_class(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "bert"}))
    assert from_config(str(path)).provenance.assumed == ("no 'architectures' field, so read as BertModel",)


def test_transformers_model_types_are_stored() -> None:
    known = transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES
    assert TYPES.read_text("utf-8").split() == sorted(known)
