"""Every field of a config.json is read, has no effect on any count, or is refused: compared with torch.

Torch's side is built from the same JSON by transformers' classes, never from our reading of it.
"""

from __future__ import annotations

import inspect
import json
import random
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
import transformers
from sympy import Expr, Symbol
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from symformer import SymformerError, from_config
from symformer.architectures import architecture_class, names
from symformer.components.base import Component
from symformer.configs import sections
from symformer.configs.common_fields import FIXED, INERT
from symformer.configs.compressed_layers import CompressedLayers, SlidingLayers
from symformer.configs.config_fields import Choice, Derived, OptionalNumberField, RotaryBase
from symformer.configs.cyclic_layers import CyclicLayers
from symformer.configs.dense_first_layers import DenseFirstLayers
from symformer.configs.indexed_layers import IndexedLayers
from symformer.configs.interleaved_layers import InterleavedLayers, Interleaving
from symformer.configs.kimi_layers import KimiLayers
from symformer.configs.layers import Layers, RotaryLayers, SpelledLayers
from symformer.configs.periodic_layers import PeriodicLayers
from symformer.configs.quantization import FIELDS as QUANTIZED
from symformer.configs.reusing_layers import ReusedKeysAndValues, ReusingLayers, SparseActivations
from symformer.configs.rotary import ROPES
from symformer.configs.shared_layers import SharedLayers
from symformer.configs.sparse_attention_layers import IndexerLayers, ReusedKeys, SparseAttentionLayers
from symformer.configs.tower_layers import TowerLayers
from symformer.configs.windowed_expert_layers import WindowedExpertLayers
from symformer.formulas.formula import Formula
from symformer.language.errors import ConfigError, UnreadError
from symformer.ledger.facts import Activation
from symformer.models.model import Model
from symformer.witness.model_calls import unpadded
from symformer.witness.models.untied_t5 import UntiedMT5, UntiedT5, UntiedUMT5
from symformer.witness.torch_session import built

from .models import cases
from .samples import sampled


class Saved:
    """A reference of a graph to a saved tensor."""


Config = dict[str, Any]
TYPES = {case.config.model_type: case for case in cases().values() if case.config.model_type}
RUN = {"B": 5, "B_vis": 4, "S": 8, "S_enc": 12, "C": 9}
UNTIED = {made_by.__base__.__name__: made_by for made_by in (UntiedT5, UntiedMT5, UntiedUMT5)}
# Our quantities, with the conventions of torch's counters.
ASKED: dict[str, tuple[str, Mapping[str, str]]] = {
    "params": ("params", {}),
    "flops": ("flops", {}),
    "cache": ("kv-cache", {"dtype": "fp32"}),
    "kept": ("activations", {"dropout": "on", "moe": "batched"}),
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Use one thread: for small tensors, multithreading takes most of the time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def base(model_type: str, name: str = "") -> Config:
    small = TYPES[model_type].config
    return {"model_type": model_type, "architectures": [name or small.classes[0]], **deepcopy(small.fields)}


def sections_of(model_type: Any) -> tuple[str, ...]:
    """Return the fields of a type's configs that contain the fields of a part."""
    return tuple(architecture_class(TYPES[model_type].name).fields.sections)


def nested(config: Config) -> Config:
    """Return the nested form of a config.json; here, fields of parts are named by their paths."""
    known = isinstance(config["model_type"], str) and config["model_type"] in TYPES
    return sections.nest(config, sections_of(config["model_type"])) if known else config


def by_torch(config: Config, implementation: str = "eager", given: bool = True) -> dict[str, int]:
    """Return torch's counts for the class that a config names: in training mode, with the config's dropouts."""
    made_by = getattr(transformers, config["architectures"][0])
    small = TYPES[config["model_type"]].config
    if config["model_type"] == "apertus":  # only its activation has this dtype if the class is built from a config
        config = {name: value for name, value in config.items() if name not in ("dtype", "torch_dtype")}
    image, towers = small.inputs == "images", small.inputs == "source and target"
    if made_by.__name__ in UNTIED and config.get("tie_word_embeddings") is False:
        made_by = UNTIED[made_by.__name__]  # transformers ties a new model; from a checkpoint it reads two tables
    pair = small.inputs == "texts and images"
    among = small.inputs == "images among tokens"
    sound = small.inputs == "sound"
    encoder = image or pair or sound or small.inputs == "encoder tokens"
    placed = encoder or "max_position_embeddings" in small.fields  # lookup tables
    length = torch.zeros(RUN["B"], RUN["S"], dtype=torch.long)
    images: dict[str, Any] = {}
    # Storages, because tensors would keep the graph, which keeps this; each until the graph has none of its tensors.
    kept: weakref.WeakKeyDictionary[Saved, torch.UntypedStorage] = weakref.WeakKeyDictionary()

    def keep(tensor: torch.Tensor) -> Saved:
        kept[saved := Saved()] = tensor.untyped_storage()
        return saved

    with unpadded():  # in real memory, which is faster than meta for small tensors
        model = built(lambda: made_by(made_by.config_class.from_dict(json.loads(json.dumps(nested(config))))), "cpu")
        model.train().config._attn_implementation = implementation
        model.config._experts_implementation = "batched_mm"
        buffers = model.buffers() if given else ()  # with given indices, the model's own buffers are not counted
        weights = {stored.untyped_storage()._cdata for stored in (*model.parameters(), *buffers)}
        found = {"params": sum(parameter.numel() for parameter in model.parameters())}
        facts: dict[str, Any] = {} if encoder else {"use_cache": False}
        if config["model_type"] == "openai-gpt":
            facts, encoder = {}, True  # it serves as a cache
        if placed and given and not image and not sound:
            facts |= {"position_ids": length[:1].clone()}
            facts |= {"token_type_ids": length.clone()} if "type_vocab_size" in config else {}
        source = length
        if image:
            side = model.config.image_size
            source = torch.zeros(RUN["B"], model.config.num_channels, side, side)
        if sound:  # of which each frame after the first adds 320 samples
            source = torch.zeros(RUN["B"], 320 * RUN["S"] + 80)
        if among:
            source, images = placed_images(model)
            facts |= images
        if pair:
            seen = model.config.vision_config
            facts["pixel_values"] = torch.zeros(RUN["B_vis"], seen.num_channels, seen.image_size, seen.image_size)
        if towers:
            source, facts["decoder_input_ids"] = source_of(model.config), length
        if towers or pair or among:
            for module in model.modules():  # each tower has its own config
                if hasattr(module, "config"):
                    module.config._attn_implementation = implementation
        counter = FlopCounterMode(display=False)
        with saved_tensors_hooks(keep, lambda saved: saved), counter:
            result = model(source, **facts)
        found["flops"] = counter.get_total_flops()
        storages = {storage._cdata: storage.nbytes() for storage in kept.values()}
        found["kept"] = sum(size for key, size in storages.items() if key not in weights)
        del result  # the output, which has the graph
        if not encoder:
            tokens = torch.zeros(RUN["B"], RUN["C"], dtype=torch.long)
            tokens[:, : RUN["S"]] = source if among else 0
            images |= _places(tokens, images)
            caches = [transformers.DynamicCache(config=model.config)]
            takes = inspect.signature(made_by.forward).parameters.keys() & {"past_key_values", "cache_params"}
            with torch.no_grad():
                if towers:
                    output = model.eval()(source, decoder_input_ids=tokens, use_cache=True)
                    caches = [output.past_key_values.self_attention_cache, output.past_key_values.cross_attention_cache]
                else:
                    model.eval()(tokens, use_cache=True, **images, **dict.fromkeys(takes, caches[0]))
            stored = {
                id(tensor): tensor.numel() * tensor.element_size()
                for cache in caches
                for layer in cache.layers  # keys and values of attention, or states by number
                for each in vars(layer).values()
                for tensor in (each.values() if isinstance(each, dict) else [each])
                if isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
            }
            found["cache"] = sum(stored.values())
            found["cache"] += sum(  # recurrent blocks store their states themselves
                tensor.numel() * tensor.element_size()
                for module in model.modules()
                for tensor in vars(module).values()
                if isinstance(tensor, torch.Tensor) and config["model_type"] == "recurrent_gemma"
            )
    return found


def placed_images(model: Any) -> tuple[torch.Tensor, dict[str, Any]]:
    """Return tokens, as many of which stand for images as the class needs, and the images."""
    seen = model.config.vision_config
    images: dict[str, Any] = {}
    if hasattr(seen, "image_size"):
        pixels = torch.zeros(RUN["B_vis"], seen.num_channels, seen.image_size, seen.image_size)
    else:  # patches of images of two by two tokens
        side = 2 * seen.spatial_merge_size
        elements = seen.in_channels * seen.temporal_patch_size * seen.patch_size**2
        pixels = torch.zeros(RUN["B_vis"] * side**2, elements)
        images["image_grid_thw"] = torch.tensor([[1, side, side]] * RUN["B_vis"])
    found = model.get_image_features(pixel_values=pixels, **images).pooler_output
    wanted = sum(len(each) for each in found)
    tokens = torch.zeros(RUN["B"] * RUN["S"], dtype=torch.long)
    tokens[-wanted:] = model.config.image_token_id
    tokens = tokens.view(RUN["B"], RUN["S"])
    return tokens, {"pixel_values": pixels, **images} | _places(tokens, images)


def _places(tokens: torch.Tensor, images: Mapping[str, Any]) -> dict[str, Any]:
    """Return positions for a class that otherwise computes them from the places of the images."""
    return {"position_ids": torch.zeros_like(tokens[:1])} if "image_grid_thw" in images else {}


def source_of(config: Any) -> torch.Tensor:
    """Return the encoder's input: tokens, or audio of fixed length."""
    if config.model_type == "whisper":
        return torch.zeros(RUN["B"], config.num_mel_bins, 2 * config.max_source_positions)
    return torch.zeros(RUN["B"], RUN["S_enc"], dtype=torch.long)


class UntakenError(Exception):
    """Torch's class has no model for a config, or the model does not run, so there is nothing to compare with."""


FORMULAS: dict[tuple[Component, tuple[tuple[Symbol, Expr], ...], str], Formula] = {}


def by_us(config: Config, path: Path | None = None) -> dict[str, int | str]:
    """Return our answers for a config, which is written to ``path`` if that is given: numbers or error messages."""
    if path is not None:
        path.write_text(json.dumps(nested(config)), "utf-8")
    try:
        model = from_config(nested(config) if path is None else path)
    except SymformerError as error:
        return {name: str(error) for name in ASKED}
    return {name: _answer(model, *asked) for name, asked in ASKED.items()}


def has_params(config: Config) -> bool:
    """Return whether we answer how many parameters a config has."""
    try:
        return isinstance(_answer(from_config(nested(config)), *ASKED["params"]), int)
    except SymformerError:
        return False


def _answer(model: Model, quantity: str, conventions: Mapping[str, str]) -> int | str:
    key = (model.component, tuple(sorted(model.relations.items(), key=str)), quantity)
    try:
        if key not in FORMULAS:
            FORMULAS[key] = model.formula(quantity, **conventions)
        return at(FORMULAS[key], model)
    except SymformerError as error:
        return str(error)


def at(formula: Formula, model: Model) -> int:
    """Evaluate a formula for torch's run, with K = X in the FLOPs of a class that multiplies by all experts."""
    asked = {name.name for name in formula.dependencies}
    run = {name: number for name, number in RUN.items() if name in asked}
    known = {name.name: number for name, number in model.known.items()}
    if "J_merge" in known:  # the image size is a size of the run: images of two by two tokens
        known["Z"] = 2 * known["Z_patch"] * known["J_merge"]
    if model.component.witness.every_expert and formula.measure.unit == "FLOPs":
        known["K"] = known["X"]
    return formula.value(known, **run)


def differences(config: Config) -> dict[str, Any]:
    """Compare an answer with torch; a fully refused config is not run in torch."""
    ours = by_us(config)
    if all(isinstance(answer, str) for answer in ours.values()):
        return {}
    try:
        theirs = by_torch(config)
    except Exception as error:
        raise UntakenError from error
    assert all(theirs.values()), f"torch counted nothing: {theirs}"
    return {
        name: (ours[name], number)
        for name, number in theirs.items()
        if isinstance(ours[name], int) and ours[name] != number
    }


def read_by(model_type: str) -> set[str]:
    """Return the fields that set a size or an option."""
    fields = architecture_class(TYPES[model_type].name).fields
    read = {name for place in fields.sizes.values() for name in place.names}
    read |= {each.name for each in fields.options.values()}
    return read | (set(fields.layers.names) if fields.layers else set())


@cache
def written(model_type: str) -> Config:
    """Return every field that transformers writes for a small config."""
    config = base(model_type)
    made_by = getattr(transformers, config["architectures"][0]).config_class
    loaded: Config = json.loads(made_by.from_dict(nested(config)).to_json_string(use_diff=False))
    return sections.flatten(loaded, sections_of(model_type))


def held(model_type: str) -> dict[str, tuple[Any, ...]]:
    """Return the fields that are supported at some values only."""
    fields = architecture_class(TYPES[model_type].name).fields
    read = {*read_by(model_type), *fields.restated}
    return {
        **{name: known for name, known in everywhere(model_type, FIXED).items() if name not in read},
        **fields.fixed,
        **fields.required,
    }


def everywhere(model_type: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of a config, repeated for every section of it."""
    inside = {f"{section}.{name}": value for section in sections_of(model_type) for name, value in known.items()}
    return {**known, **inside}


def others(value: Any) -> list[Any]:
    """Return other values of the same kind as a field's value."""
    match value:
        case bool():
            return [not value]
        case int():
            return [2 * value or 1]  # divisibility is preserved
        case float():
            return [value / 2 + 0.125, 0.0]
        case str():
            return ["relu", "x"]
        case None:
            return [1, True, 0.5, "x", [1]]
        case list():
            return [value[::-1], value[:1] * len(value)]
    return [{}]


def taken(model_type: str, name: str, values: list[Any]) -> Any:
    """Return the first of some values that the class accepts."""
    made_by = getattr(transformers, TYPES[model_type].config.classes[0]).config_class
    for value in values:
        try:
            made_by.from_dict(
                sections.nest({name: deepcopy(value)}, sections_of(model_type))
            )  # some classes modify their arguments
        except Exception:  # noqa: S112
            continue
        return value
    raise AssertionError(f"no value of {name} is taken")


LINEAR = {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}
YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "mscale": 1.0, "beta_fast": 32}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_theta": 5e5}
HALF = {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4, "partial_rotary_factor": 0.5}
APIECE = {"full_attention": LINEAR, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
LONG = {"type": "su", "short_factor": [1.0, 1.1, 1.2], "long_factor": [4.0, 5.0, 6.0]}  # 3 pairs in each head
# Values in published configs, whether or not the class still reads the field.
PUBLISHED: dict[str, list[Any]] = {
    "n_ctx": [7], "gradient_checkpointing": [True, False], "torch_dtype": ["bfloat16"], "dtype": ["float16"],
    "_attn_implementation": ["eager"], "task_specific_params": [{"text-generation": {"max_length": 50}}],
    "rope_scaling": [LINEAR, YARN, HALF, LONG, {**LLAMA3, "original_max_position_embeddings": 16}],
    "pretraining_tp": [2],
    "rope_parameters": [LINEAR, APIECE, {"sliding_attention": None}, HALF,
        {"rope_type": "default", "rope_theta": 7.0}, {"rope_type": "longrope"}],
    "rope_theta": [5.0, 1_000_000], "partial_rotary_factor": [0.5, 1.0], "auto_map": [{"AutoConfig": "x.Y"}],
    "layer_types": [["full_attention"] * 2, ["sliding_attention", "full_attention"], ["sliding_attention"] * 2],
    "sliding_window": [3, None], "is_decoder": [True], "use_cache": [False], "is_causal": [False],
    "hidden_act": ["relu"], "hidden_activation": ["relu"], "activation_function": ["relu"],
    "attention_bias": [True, False], "mlp_bias": [True, False], "chunk_size_feed_forward": [2, 0],
    "tie_encoder_decoder": [True], "torchscript": [True], "pruned_heads": [{"0": [1]}, {}],
    "add_cross_attention": [True], "position_embedding_type": ["relative_key", "absolute"],
    "scoring_func": ["softmax"], "topk_method": ["greedy"], "moe_layer_freq": [2, 1], "num_labels": [5],
    "output_hidden_states": [True], "output_attentions": [True], "qk_head_dim": [5], "head_dim": [6],
    "num_key_value_heads": [1, 2, 6], "cache_implementation": ["hybrid"], "max_window_layers": [1],
    "quantization_config": [{"quant_method": "fp8"}, None], "use_sliding_window": [True, False],
    "reorder_and_upcast_attn": [True], "scale_attn_by_inverse_layer_idx": [True], "attention_dropout": [0.3],
    "embedding_size": [5], "n_mtp": [1], "bias": [False], "id2label": [{"0": "a", "1": "b", "2": "c"}],
    "unsloth_fixed": [True], "unsloth_version": ["2024.9"], "is_llama_config": [True], "rope_interleaved": [True],
    "sliding_window_size": [7], "max_sequence_length": [7], "model_max_length": [7], "tokenizer_model_max_length": [7],
    "tokenizer_padding_side": ["left"], "neftune_noise_alpha": [5.0], "unk_token_id": [7], "cls_token_id": [7],
    "mask_token_id": [7], "max_position_embeddings": [50], "num_experts": [7], "finetuning_task": ["x"],
    "use_bfloat16": [True], "attention_types": [[[["global", "local", "local"], 8]], [[["global"], 24]], 7],
    "attn_config": [{"alibi": True, "attn_impl": "torch", "softmax_scale": 0.5}, {"clip_qkv": 6.0}, {"qk_ln": True}],
    "rotary_pct": [0.5, 1.0], "rotary_dim": [4], "num_ln_in_parallel_attn": [1, 2], "num_kv_heads": [1, 2],
    "word_embed_proj_dim": [5, 12], "rotary_emb_base": [500], "no_bias": [False], "expansion_ratio": [2],
    "classifier_pooling": ["mean"],
    "decoder_layers": [1, 3], "pos_embed_jitter": [2.0], "pos_embed_rescale": [1.5],
}  # fmt: skip


def test_every_architecture_of_transformers_has_a_small_config() -> None:
    classes = [architecture_class(name) for name in names()]
    types = {each for found in classes if found.witness.library == "transformers" for each in found.fields.model_types}
    assert types == TYPES.keys()


@pytest.mark.parametrize("model_type", sampled(12, TYPES))
def test_inert_fields_change_nothing(model_type: str) -> None:
    """All fields at once, with values other than the defaults; fields that must have one value get that."""
    fields = architecture_class(TYPES[model_type].name).fields
    said = everywhere(model_type, dict.fromkeys(INERT))
    ropes = sorted(fields.rotary_fields)
    known = (*said, *fields.inert, *(ropes if fields.ropes == ROPES and fields.rotary else ()))
    beside = {name for place in fields.sizes.values() if isinstance(place, Derived) for name in place.others}
    names = [name for name in known if name not in {*fields.fixed, *read_by(model_type), *beside}]
    values = {name: others(value) for name, value in written(model_type).items()}
    values |= everywhere(model_type, PUBLISHED)
    values |= {name: [APIECE] for name in ropes if name.endswith("rope_parameters")} if fields.apiece else {}
    changed = {name: taken(model_type, name, values[name]) for name in names if name in values}
    for name in everywhere(model_type, {"return_dict": True}):
        changed.pop(name)  # its forward requires it
    for section in sections_of(model_type):  # parts of different precision do not run together
        changed = {name: value for name, value in changed.items() if name not in _precisions(section)}
    assert len(changed) > 20
    changed |= {name: known[0] for name, known in held(model_type).items()}
    assert differences({**base(model_type), **changed}) == {}
    ours = by_us({**base(model_type), **changed})
    assert isinstance(ours["params"], int), ours
    assert ours == by_us(base(model_type))


def _precisions(section: str) -> tuple[str, ...]:
    return f"{section}.dtype", f"{section}.torch_dtype"


@pytest.mark.parametrize("model_type", sampled(16, TYPES))
def test_each_changed_field_matches_torch_or_is_refused(model_type: str) -> None:
    """Every answer agrees with torch: for each field of the class and of published configs.

    Refused fields, and those limited to some values, are tested one by one. For answered configs, torch is run once for
    as many different, compatible fields as possible.
    """
    fields = architecture_class(TYPES[model_type].name).fields
    inert = (
        {*everywhere(model_type, dict.fromkeys(INERT)), *fields.inert} - fields.fixed.keys() - read_by(model_type)
    )  # tested above, all at once, like accepted values of these
    values = {name: others(value) for name, value in written(model_type).items() if name != "model_type"}
    values |= everywhere(model_type, PUBLISHED) | {
        "architectures": [[name] for name in TYPES[model_type].config.classes]
    }
    refused, together = 0, list[Config]()
    for name, value in [(each, value) for each in sorted(values.keys() - inert) for value in values[each]]:
        ours = by_us({**base(model_type), name: value})
        if name in held(model_type):
            accepted = any(value == known for known in held(model_type)[name])
            assert isinstance(ours["params"], int) == accepted, (name, value)
        elif any(isinstance(answer, int) for answer in ours.values()):
            free = next((each for each in together if name not in each), None)
            if free is None:
                together.append(free := {})
            free[name] = value
        refused += isinstance(ours["params"], str)
    answered = sum(agreeing(model_type, changed) for changed in together)
    assert answered >= 10, (answered, refused)
    assert refused >= 20, (answered, refused)


def agreeing(model_type: str, changed: Config) -> int:
    """Return how many of these fields agree with torch: all at once, or else in halves, down to single fields."""
    if agrees(model_type, changed):
        return len(changed)
    if len(changed) == 1:
        return 0
    names = sorted(changed)
    halves = names[: len(names) // 2], names[len(names) // 2 :]
    return sum(agreeing(model_type, {name: changed[name] for name in half}) for half in halves)


def agrees(model_type: str, changed: Config) -> bool:
    """Return True if all these fields are answered and torch has such a model, after comparing the counts."""
    config = {**base(model_type), **changed}
    try:
        assert differences(config) == {}, changed
    except UntakenError:
        return False
    return has_params(config)


@pytest.mark.parametrize("model_type", sampled(4, TYPES))
def test_every_class_follows_its_options(model_type: str) -> None:
    """A class may ignore a field, as transformers' T5 ignores whether its head is tied; no class tested here does."""
    fields = architecture_class(TYPES[model_type].name).fields
    assert set(TYPES[model_type].config.classes) == {
        name for name in fields.classes if not name.startswith("symformer")
    }
    default = json.loads(
        getattr(transformers, TYPES[model_type].config.classes[0]).config_class().to_json_string(use_diff=False)
    )
    default = sections.flatten(default, sections_of(model_type))
    filled = sections.flatten(fields.filled, sections_of(model_type))  # of sections that a config does not have
    other: Config = {}
    for option in fields.options.values():
        if isinstance(option, RotaryBase):
            other[option.name] = None
            continue
        if isinstance(option, ReusedKeys | SlidingLayers | ReusedKeysAndValues | SparseActivations):  # tested below
            continue
        value = default[option.name]
        assert value == filled.get(option.name, option.default)
        other[option.name] = (
            next(each for each, meaning in option.meanings.items() if meaning != option.meanings[value])
            if isinstance(option, Choice)
            else option.write(True)
            if isinstance(option, Interleaving)
            else option.write(value is None)
            if isinstance(option, OptionalNumberField)
            else not value
            if isinstance(value, bool)
            else "relu"
            if isinstance(value, str)
            else 0.0
            if value
            else 0.5
        )
    if model_type == "falcon":
        del other["parallel_attn"]  # its grouped form requires it
    for class_name in TYPES[model_type].config.classes:
        config = {**base(model_type, class_name), **other}
        assert isinstance(by_us(config)["params"], int)
        assert differences(config) == {}, class_name


@pytest.mark.parametrize(
    "indexers",
    [
        {"indexer_types": ["full", "full", "shared", "full", "shared"]},
        {"index_topk_pattern": "FFSSF", "index_topk_freq": 3},
        {"index_topk_pattern": ["full", "full", "shared", "full", "full"]},
        {"index_topk_freq": 2, "index_skip_topk_offset": 3},
        {"index_topk_freq": 3, "index_skip_topk_offset": 0, "indexer_types": ["full"] * 5},
    ],
)
def test_layers_that_reuse_chosen_keys_match_torch(indexers: Config) -> None:
    config = {**base("glm_moe_dsa"), "num_hidden_layers": 5, "first_k_dense_replace": 2, **indexers}
    assert differences(config) == {}
    assert isinstance(by_us(config)["flops"], int)


@pytest.mark.parametrize(
    "indexers",
    [
        {"indexer_types": ["full", "shared", "full", "full", "full"]},  # a dense layer
        {"indexer_types": ["full", "full", "shared", "shared", "shared"]},
        {"indexer_types": ["full", "full", "shared"]},
        {"indexer_types": ["full", "full", "full", "full", "other"]},
        {"index_topk_pattern": "FFXFS"},
        {"index_topk_freq": 2, "index_skip_topk_offset": None},
    ],
)
def test_unsupported_layers_that_reuse_chosen_keys_are_refused(indexers: Config) -> None:
    config = {**base("glm_moe_dsa"), "num_hidden_layers": 5, "first_k_dense_replace": 2, **indexers}
    with pytest.raises((UnreadError, ConfigError), match=next(reversed(indexers)) + "|indexer_types"):
        architecture_class("glm-moe-dsa").fields.read(config)


@pytest.mark.parametrize("model_type", sampled(36, TYPES))
def test_random_fields_together_match_torch(model_type: str) -> None:
    """Fields that have no effect one by one can have one together, such as a window and the first layer with one."""
    draw, compared = random.Random(model_type), 0  # noqa: S311
    known = {name: others(value) for name, value in written(model_type).items()}
    known |= {name: known.get(name, []) + values for name, values in everywhere(model_type, PUBLISHED).items()}
    windows = {"sliding_window": [3, 8, None], "max_window_layers": [0, 1, 2], "use_sliding_window": [True, False]}
    known |= {name: values for name, values in windows.items() if name in written(model_type)}
    apart = {"dtype", "torch_dtype", *(name for section in sections_of(model_type) for name in _precisions(section))}
    pairs = [(name, value) for name in sorted(known.keys() - apart) for value in known[name]]
    # those that are answered one by one, and windows
    pairs = [(name, value) for name, value in pairs if name in windows or has_params({**base(model_type), name: value})]
    for _ in range(30):
        changed = dict(draw.sample(pairs, min(6, len(pairs))))
        config = {**base(model_type, draw.choice(TYPES[model_type].config.classes)), **changed}
        with suppress(UntakenError):
            assert differences(config) == {}, changed
            compared += has_params(config)
    assert compared >= 3, compared


@pytest.mark.parametrize("group", sampled(4, range(4)))
def test_random_field_of_a_random_config_matches_torch(group: int) -> None:
    """200 configs of random sizes, each with a changed field that sets no size and no option."""
    draw = random.Random(group)  # noqa: S311
    answered = refused = unbuilt = 0
    for index in range(200)[group::4]:
        model_type = list(TYPES)[index % len(TYPES)]
        config = base(model_type, draw.choice(TYPES[model_type].config.classes))
        for name in sorted(read_by(model_type) & config.keys()):
            if name in ("intermediate_size", "n_inner", "vocab_size", "kv_lora_rank", "q_lora_rank", "v_head_dim"):
                config[name] += draw.randint(0, 20)
            elif name in ("num_hidden_layers", "n_layer", "sliding_window"):
                config[name] += draw.randint(0, 2)
            elif name in ("n_embd", "hidden_size", "num_attention_heads"):  # whole heads and groups
                config[name] *= draw.randint(1, 2)
        if "num_key_value_heads" in config and model_type == "deepseek_v3":
            config["num_key_value_heads"] = config["num_attention_heads"]
        pool: dict[str, list[Any]] = {name: others(value) for name, value in written(model_type).items()}
        pool |= {name: pool.get(name, []) + values for name, values in PUBLISHED.items()}
        names = sorted(pool.keys() - read_by(model_type) - {"model_type", "architectures"})
        name = draw.choice([*names, *QUANTIZED, f"field_{index}", *sorted(FIXED.keys() - read_by(model_type))])
        config[name] = draw.choice(pool.get(name) or [1, True, "x", {"quant_method": "gptq"}])
        try:
            assert differences(config) == {}, config
        except UntakenError:
            unbuilt += 1
            continue
        ours = by_us(config)
        answered += isinstance(ours["params"], int)
        refused += isinstance(ours["params"], str)
    assert answered >= 15, (answered, refused, unbuilt)
    assert refused >= 7, (answered, refused, unbuilt)
    assert unbuilt <= 5, (answered, refused, unbuilt)


@pytest.mark.parametrize("model_type", sampled(4, TYPES))
def test_null_fields_match_torch_or_are_refused(model_type: str) -> None:
    """If the class accepts null, our answer agrees with torch; otherwise we refuse it too."""
    made_by = getattr(transformers, TYPES[model_type].config.classes[0]).config_class
    fields = architecture_class(TYPES[model_type].name).fields
    taken = 0
    for name in sorted(read_by(model_type)):
        config = {**base(model_type), name: None}
        ours = by_us(config)
        if name in getattr(made_by, "attribute_map", {}):
            assert all(isinstance(answer, str) for answer in ours.values()), name
            continue
        try:
            made_by.from_dict(nested(config))
        except Exception:
            assert all(isinstance(answer, str) and repr(name) in answer for answer in ours.values()), (name, ours)
        else:
            if name == "first_k_dense_replace" or isinstance(ours["params"], str):
                assert all(isinstance(answer, str) for answer in ours.values())
                continue
            assert differences(config) == {}, name
            taken += 1
    nothing = sum(isinstance(each, Choice) and None in each.meanings for each in fields.options.values())
    nothing += sum(isinstance(each, OptionalNumberField | RotaryBase) for each in fields.options.values())
    nothing += sum(place.null or place.unset for place in fields.sizes.values())
    # The fields that accept null: the list, a word or other lists.
    lists = {SpelledLayers: 2, RotaryLayers: 2, InterleavedLayers: 3, DenseFirstLayers: 0, PeriodicLayers: 0}
    lists |= {
        SparseAttentionLayers: 2,
        IndexerLayers: 4,
        WindowedExpertLayers: 5,
        SharedLayers: 0,
        KimiLayers: 2,
        CyclicLayers: 0,
        TowerLayers: 2,
        ReusingLayers: 2,
        CompressedLayers: 4,
    }  # and the angles
    if type(fields.layers) in (Layers, IndexedLayers) and {*fields.layers.pattern} != {*fields.layers.sizes}:
        nothing -= not getattr(fields.layers, "places", "")  # without the list, all layers are of one kind
    nothing += sum(fields.sizes[size].absent is None for size in fields.nullable.values())
    assert taken == nothing + lists.get(type(fields.layers), bool(fields.layers))


@pytest.mark.parametrize("model_type", ["gpt2", "llama"])
def test_activation_function_is_read(model_type: str) -> None:
    """Bytes agree with torch for functions with a rule; for all others, only the bytes are refused."""
    field = architecture_class(model_type).fields.options["activation"].name
    exact = []
    for function in (*get_args(Activation), "swish"):
        config = {**base(model_type), field: function}
        ours = by_us(config)
        assert isinstance(ours["params"], int)
        assert isinstance(ours["flops"], int)
        if isinstance(ours["kept"], str):
            assert f"the function {function!r}" in ours["kept"]
            continue
        assert differences(config) == {}
        exact.append(function)
    known = {"gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "relu", "relu2", "sigmoid", "silu"}
    known |= {"swish", "tanh"}
    assert set(exact) == known
    for function in ("prelu", "xielu", "geglu", 7, None):  # the first two have weights of their own
        refusal = by_us({**base(model_type), field: function})["params"]
        assert isinstance(refusal, str)
        assert f"{field!r} is {function!r} in the config" in refusal


def test_relu_saves_less_than_gelu_new() -> None:
    """By hand: relu saves only its output, which the next matrix reads; gelu_new saves four tensors per layer."""
    kept = {
        function: by_us({**base("gpt2"), "activation_function": function})["kept"] for function in ("gelu_new", "relu")
    }
    assert kept["gelu_new"] - kept["relu"] == 2 * 4 * (4 * RUN["B"] * RUN["S"] * 7)  # type: ignore[operator]


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("model_type", ["gpt2", "bert", "llama", "mistral"])
def test_zero_dropout_saves_no_mask(model_type: str, implementation: str) -> None:
    fields = architecture_class(model_type).fields
    chances = [each.name for option, each in fields.options.items() if option.endswith("dropout")]
    found = set()
    for off in ((), *((name,) for name in chances), tuple(chances)):
        config = {**base(model_type), **{name: 0 if name in off else 0.25 for name in chances}}
        if model_type == "mistral":
            config["sliding_window"] = 20  # longer than the input, so that the fused kernel needs no mask
        model = from_config(config)
        formula = model.formula("activations", dropout="on", implementation=implementation)
        ours = at(formula, model)
        assert ours == by_torch(config, implementation)["kept"], off
        found.add(ours)
    assert len(found) == len(chances) + (2 if len(chances) > 1 else 1)
    for value in (1, 1.5, -0.1, True, "0.1", None, float("nan")):
        with pytest.raises(SymformerError, match="a dropout probability is at least 0 and less than 1"):
            from_config({**base(model_type), chances[0]: value})


def test_default_bert_indices_use_different_bytes() -> None:
    """The formula assumes given indices: 8 bytes for each of B·S segments and S positions.

    If they are missing, torch holds one row of S segments for all sequences, and the model's buffer of P positions.
    """
    config = {**base("bert"), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    given, made = (by_torch(config, given=way)["kept"] for way in (True, False))
    assert given - made == 8 * (RUN["B"] * RUN["S"] + RUN["S"]) - 8 * (RUN["S"] + config["max_position_embeddings"])


@pytest.mark.parametrize(
    ("model_type", "fields", "sentence"),
    [
        (
            "gpt2",
            {"kv_groups": 3},
            "the field 'kv_groups' = 3 is not supported; remove it if it does not affect the model",
        ),
        ("llama", {"a\x1b[31m": None}, r"the field 'a\x1b[31m' = None is not supported"),
        (
            "llama",
            {"quantization_config": "fp8"},
            "'quantization_config' is 'fp8' in the config; it should be an object",
        ),
        ("llama", {"sliding_window": 4}, "'sliding_window' is 4 in the config; this affects the count"),
        ("llama", {"layer_types": ["full_attention"]}, "only 2 layers of 'full_attention' are supported"),
        ("mistral", {"layer_types": ["full_attention"] * 2}, "only 2 layers of 'sliding_attention' are supported"),
        ("bert", {"is_decoder": True}, "'is_decoder' is True in the config; this affects the count"),
        (
            "bert",
            {"hidden_size": None},
            "'hidden_size' is null in the config, but E (hidden size) is an integer",
        ),
        ("gpt2", {"n_embd": None}, "'n_embd' is null in the config"),
        ("gpt2", {"gradient_checkpointing": True}, "'gradient_checkpointing' is True in the config"),
        ("gemma2", {"sliding_window": None}, "'sliding_window' is null in the config"),
        (
            "gemma2",
            {"layer_types": ["sliding_attention", "full_attention"]},
            "'layer_types' has 2 layers in the config",
        ),
        ("deepseek_v3", {"num_key_value_heads": 3}, "'num_key_value_heads' is 3 in the config, but A is 6"),
        ("deepseek_v3", {"head_dim": 6}, "'head_dim' is 6 in the config, but D_rope is 4"),
        (
            "falcon",
            {"new_decoder_architecture": False, "multi_query": False},
            "it must equal 'num_attention_heads', 6; remove",
        ),
        (
            "gemma3_text",
            {"rope_parameters": {"sliding_attention": {"rope_type": "x"}}},
            "'rope_parameters.sliding_attention' has the type 'x' in the config",
        ),
        ("gemma3_text", {"rope_parameters": LINEAR}, "it should have an object for each of 'full_attention'"),
        (
            "smollm3",
            {"no_rope_layers": [1, 1, 2, 1, 0]},
            "'no_rope_layers' contains '2' in the config; only 1 and",
        ),
        ("smollm3", {"no_rope_layers": [1, 1, 0, 1]}, "'no_rope_layers' has 4 layers in the config, but 'num_hidden_l"),
        ("smollm3", {"layer_types": ["sliding_attention"] * 5}, "only 5 layers of 'full_attention' are supported"),
        ("nemotron_h", {"tie_word_embeddings": True}, "'tie_word_embeddings' is True in the config"),
        ("llama", {"rope_scaling": HALF}, "'rope_scaling' has 'partial_rotary_factor' = 0.5 in the config"),
        ("llama", {"rope_scaling": {"type": "su"}}, "'rope_scaling' has the type 'su' in the config"),
        ("llama", {"rope_scaling": {"type": "linear"}}, "the type 'linear' in the config, which requires 'factor'"),
        ("llama", {"rope_scaling": [2]}, "it should be an object or null"),
        ("llama", {"rope_theta": "10000"}, "'rope_theta' is '10000' in the config; it should be a number above 0"),
        ("gpt2", {"architectures": 0}, "'architectures' is 0 in the config; it should be a list of one class name"),
    ],
)
def test_unsupported_field_is_refused_by_name(model_type: str, fields: Mapping[str, Any], sentence: str) -> None:
    refusal = by_us({**base(model_type), **fields})["params"]
    assert isinstance(refusal, str)
    assert sentence in refusal
    assert "\n" not in refusal


@pytest.mark.parametrize("name", ["model_type", "architectures", "hidden_size", "rope_scaling", "hidden_act", "field"])
def test_long_or_deep_values_are_truncated(name: str, tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(900):
        deep = [deep]
    for value in ("x" * 100_000, ["x" * 100_000], deep, 10**4_000):
        config = {**base("llama"), name: value}
        if name == "model_type":
            del config["architectures"]  # it decides if the type is unknown
        refusal = by_us(config, tmp_path / "config.json")["params"]
        assert isinstance(refusal, str)
        assert len(refusal) - len(str(tmp_path)) < 500


def test_long_value_is_truncated(tmp_path: Path) -> None:
    config = {**base("llama"), "field_1": {"modules_to_not_convert": ["model.layers.1"] * 200_000}}
    refusal = by_us(config, tmp_path / "config.json")["params"]
    assert (tmp_path / "config.json").stat().st_size > 3_000_000
    assert isinstance(refusal, str)
    assert len(refusal) - len(str(tmp_path)) < 300
    assert "is not supported; remove it if it does not affect the model" in refusal


# Further fields of the released configs, and the totals, as in test_architectures.
LLAMA_3 = {
    **{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336},
    **{"num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256},
    **{"attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 128000, "eos_token_id": [128001, 128009]},
    **{"hidden_act": "silu", "initializer_range": 0.02, "max_position_embeddings": 131072, "mlp_bias": False},
    **{"pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": False},
    "rope_scaling": {**LLAMA3, "original_max_position_embeddings": 8192},
    **{"torch_dtype": "bfloat16", "transformers_version": "4.43.0.dev0", "use_cache": True},
}
GPT_2 = {
    **{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new"},
    **{"attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02},
    **{"layer_norm_epsilon": 1e-05, "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024},
    **{"resid_pdrop": 0.1, "summary_activation": None, "summary_first_dropout": 0.1, "summary_proj_to_labels": True},
    **{"summary_type": "cls_index", "summary_use_proj": True, "vocab_size": 50257},
    "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
}
BERT_MULTILINGUAL = {
    **{"model_type": "bert", "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1},
    **{"directionality": "bidi", "gradient_checkpointing": False, "hidden_act": "gelu", "hidden_dropout_prob": 0.1},
    **{"initializer_range": 0.02, "layer_norm_eps": 1e-12, "pad_token_id": 0, "pooler_fc_size": 768},
    **{"pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3, "pooler_size_per_head": 128, "vocab_size": 30522},
    **{"pooler_type": "first_token_transform", "position_embedding_type": "absolute", "type_vocab_size": 2},
}
DEEPSEEK = {
    **{"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": False},
    **{"auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"}, "aux_loss_alpha": 0.001, "ep_size": 1},
    **{"first_k_dense_replace": 3, "moe_layer_freq": 1, "n_group": 8, "norm_topk_prob": True, "topk_group": 4},
    **{"num_key_value_heads": 128, "num_nextn_predict_layers": 1, "rope_theta": 10000, "routed_scaling_factor": 2.5},
    **{"scoring_func": "sigmoid", "seq_aux": True, "topk_method": "noaux_tc", "torch_dtype": "bfloat16"},
    "rope_scaling": {
        **{"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0, "type": "yarn"},
        "original_max_position_embeddings": 4096,
    },
}
GEMMA_2 = {
    **{"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "attn_logit_softcapping": 50.0},
    **{"cache_implementation": "hybrid", "final_logit_softcapping": 30.0, "hidden_act": "gelu_pytorch_tanh"},
    **{"hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 256, "torch_dtype": "float32"},
}
MIXTRAL = {
    **{"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "output_router_logits": False},
    **{"router_aux_loss_coef": 0.02, "sliding_window": None, "rope_theta": 1000000.0, "attention_dropout": 0.0},
}

GEMMA_2_9B = {
    **{**GEMMA_2, "hidden_size": 3584, "intermediate_size": 14336, "num_attention_heads": 16, "num_hidden_layers": 42},
    **{"num_key_value_heads": 8, "sliding_window": 4096, "sliding_window_size": 4096, "vocab_size": 256000},
}
LLAMA_3_1B = {
    **{**LLAMA_3, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "tie_word_embeddings": True},
    **{"head_dim": 64, "pad_token_id": 128004, "unsloth_fixed": True, "unsloth_version": "2024.9"},
}
SMOLLM_2 = {
    **{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 576, "intermediate_size": 1536},
    **{"is_llama_config": True, "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3},
    **{"rope_interleaved": False, "rope_scaling": None, "tie_word_embeddings": True, "vocab_size": 49152},
}


@pytest.mark.parametrize(
    ("config", "total"),
    [
        (GEMMA_2_9B, 9_241_705_984),
        (LLAMA_3_1B, 1_235_814_400),
        (SMOLLM_2, 134_515_008),
        (GPT_2, 124_439_808),
        (BERT_MULTILINGUAL, 109_514_298),
        (LLAMA_3, 8_030_261_248),
        (DEEPSEEK, 671_026_419_200 - 58 * 256),
        (GEMMA_2, 2_614_341_888),
        (MIXTRAL, 46_702_792_704),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_published_configs_are_read(config: Config, total: int, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    assert from_config(str(tmp_path / "config.json")).params.value() == total


def test_function_without_a_rule_is_refused_where_it_matters() -> None:
    model = from_config({**base("gpt2"), "activation_function": "mish"})
    gelu_new = from_config(base("gpt2"))
    for quantity, conventions in (("params", {}), ("flops", {}), ("train-memory", {"implementation": "none"})):
        same = at(gelu_new.formula(quantity, **conventions), model)
        assert at(model.formula(quantity, **conventions), model) == same > 0
    for quantity, conventions, sentence in (
        ("activations", {}, "h.*.mlp.act: "),
        ("activations", {"implementation": "megatron"}, "not mish"),
        ("train-memory", {}, "the function 'mish'"),
        ("flops", {"count": "all"}, "count=all does not support 'mish'"),
    ):
        with pytest.raises(SymformerError) as caught:
            model.formula(quantity, **conventions)
        assert sentence in str(caught.value)
