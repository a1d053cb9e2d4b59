"""The mechanisms of a class of the catalogue, from what its entry states: stored weights, operations and config.

A rule needs a fact on file: the name of a module in the class's own code together with the shapes of its weights, an
operation of its run, or the default of a config field. The name of the model is no evidence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sympy import Expr, Symbol, sympify

from ..catalogue.entries import EACH, CatalogueEntry, field_name, letters, part_of
from ..catalogue.measured_model import MeasuredModel
from ..language.errors import SymformerError
from ..language.symbols import named_symbol
from ..ledger.facts import Entry, OperationKind
from ..models.model import Model

Shape = tuple[Expr, ...]

PROJECTIONS = (
    ("q_proj", "k_proj", "v_proj"), ("query", "key", "value"), ("q", "k", "v"), ("q_lin", "k_lin", "v_lin"),
    ("query_proj", "key_proj", "value_proj"), ("linear_q", "linear_k", "linear_v"), ("Wq", "Wk", "Wv"),
    ("wq", "wk", "wv"), ("project_q", "project_k", "project_v"), ("q_head", "k_head", "v_head"),
    ("projection_query", "projection_key", "projection_value"),
)  # fmt: skip
FUSED = ("qkv", "qkv_proj", "Wqkv", "c_attn", "query_key_value", "in_proj_weight")  # queries, keys and values at once
OUTPUTS = ("o_proj", "out_proj", "proj", "dense", "Wo", "c_proj", "wo", "output")  # of attention
GATED = (
    ("gate_proj", "up_proj", "down_proj"), ("w1", "w3", "w2"), ("wi_0", "wi_1", "wo"), ("gate", "up", "down"),
)  # fmt: skip
GATED_AT_ONCE = (
    ("gate_up_proj", "down_proj"), ("Wi", "Wo"), ("input_linear", "output_linear"), ("weights_in", "weights_out"),
    ("w12", "w3"), ("wi", "wo"), ("fc1", "fc2"),
)  # fmt: skip
CROSS = re.compile(r"encoder_attn|crossattention|cross_attn|cross_attention|EncDecAttention|encoder_attention")
POSITIONS = re.compile(r"(\w+_)?(pos(ition(al)?)?_embed(ding)?s?|wpe|position_embedding_table)")
DISTANCES = re.compile(
    r"relative_attention_bias|relative_position_bias(_table)?|rel_pos_[hw]|relative_k_proj|r_r_bias|distance_embedding"
    r"|rel_pos(_[xy])?_bias|rel_pos_emb|rel_embeddings|attention_biases"
)
# Mechanisms that a module of this name has.
MODULES: Mapping[str, str] = {
    "experts": r"experts",
    "shared expert": r"shared_experts?",
    "sparse attention": r"indexer",
    "compressed attention": r"compressor",
    "attention sinks": r"sinks|attention_sink_bias",
    "latent attention": r"kv_b_proj",
    "time mixing": r"time_decay",
    "linear recurrence": r"recurrent_param",
}
IMAGE_CHANNELS = ("num_channels", "in_channels", "in_chans", "image_channels", "num_input_channels")
AUDIO = ("num_mel_bins", "n_mels", "num_mel_channels", "audio_channels")
COLOURS = 3  # channels of an image
FIXED = ("vit_mae",)  # model types whose table of positions is stored but not trained
NORMS = ("norm", "layernorm", "layer_norm")
RECURRENT = frozenset({"A_log", "dt_bias", "q_conv1d", "conv1d"})  # weights of a mixer without attention heads
MULTI_HEAD, GROUPED, MULTI_QUERY = "multi-head attention", "grouped-query attention", "multi-query attention"
ENCODER_DECODER, VISION_TOWER, CONVOLUTION = "encoder-decoder", "vision tower", "convolution"


@dataclass(frozen=True)
class FiledModule:
    """A module with weights of its own: its path in the class, and the shape of each weight by name."""

    path: str
    shapes: Mapping[str, Shape]

    def has(self, *names: str) -> bool:
        """Return whether the module has all of these weights."""
        return self.shapes.keys() >= {*names}


@dataclass(frozen=True)
class FiledClass:
    """The stored facts of a class: its weights and config fields at the default config, and its operations."""

    model: Model
    entry: CatalogueEntry

    @cached_property
    def numbers(self) -> Mapping[Symbol, int]:
        """The sizes of the default config: the sizes of the model, then the defaults of its fields."""
        known = letters(self.entry)
        stated = {named_symbol(known[name]): number for name, number in self.entry.config.sizes.items()}
        return {**stated, **self.model.known}

    @cached_property
    def modules(self) -> tuple[FiledModule, ...]:
        """The modules with weights, without layers that the default config does not have.

        Layers of several kinds can have the same path; their numbers of copies differ.
        """
        found: dict[tuple[str, Shape], dict[str, Shape]] = {}
        component = self.model.component
        for (weight, shape), counts in component.counts.items() if isinstance(component, MeasuredModel) else ():
            if all(self.value(each) != 0 for each in (*shape, *counts)):
                path, _, name = weight.removesuffix(".weight").rpartition(".")
                if name != "bias":
                    found.setdefault((path, counts), {})[name] = shape
        return tuple(FiledModule(path, names) for (path, _), names in found.items())

    @cached_property
    def words(self) -> frozenset[str]:
        """The names of all modules and weights."""
        return frozenset(word for module in self.modules for word in (*module.path.split("."), *module.shapes))

    @cached_property
    def operations(self) -> tuple[Entry, ...]:
        """The operations of a run; () if only the weights are known."""
        component = self.model.component
        if not isinstance(component, MeasuredModel) or component.stored_run is None:
            return ()
        try:
            ledger = component.stored_run()
        except SymformerError:
            return ()
        return tuple(item for scope in ledger.root.walk() for item in scope.items if isinstance(item, Entry))

    def value(self, size: Expr) -> Expr:
        """Return a size at the default config, as far as that states it."""
        return sympify(size.xreplace(self.numbers))

    def default(self, name: str) -> Iterator[Any]:
        """Yield the defaults of the fields with this name, in all parts of the config."""
        for path, value in {**self.entry.switches, **self.entry.config.sizes}.items():
            if field_name(path) == name:
                yield value

    def comes_from(self, size: Expr, names: Collection[str] = (), part: str = "") -> bool:
        """Return whether a config field states a size: one with these names, or in a nested config with this word."""
        places = self.model.provenance.places
        fields = [places[str(letter)].field for letter in size.free_symbols if str(letter) in places]
        return any(field_name(each) in names or (part and part in part_of(each)) for each in fields)


def catalogue_mechanisms(model: Model, entry: CatalogueEntry) -> frozenset[str]:
    """Return the names of the mechanisms that the entry of a class proves; others are not known.

    Parameters
    ----------
    model
        The class at its default config.
    entry
        Its entry in the catalogue.

    """
    filed = FiledClass(model, entry)
    rules = (_named, _heads, _layers, _inputs, _fields, _operations)
    return frozenset(name for rule in rules for name in rule(filed))


def _named(filed: FiledClass) -> Iterator[str]:
    """Yield the mechanisms with modules or weights of their own names."""
    for name, pattern in MODULES.items():
        if any(re.fullmatch(pattern, word) for word in filed.words):
            yield name
    paths = {module.path for module in filed.modules}
    for module in filed.modules:
        if module.has("A_log", "D"):
            yield "state-space mixer"
        elif module.has("A_log", "dt_bias"):  # a delta rule: one decay for each head, or for each row of its state
            yield "linear attention"
            by_head = module.shapes["A_log"] == module.shapes["dt_bias"]
            yield "gated DeltaNet" if by_head else "Kimi Delta Attention"
        if any(module.has(f"q_{norm}", f"k_{norm}") for norm in NORMS):
            yield "query and key norms"
        if module.has("q_proj", "k_proj", "gate_proj"):
            yield "attention gate"
        above, _, last = module.path.rpartition(".")
        if CROSS.search(last) and any(module.has(*names[:2]) for names in PROJECTIONS):
            yield "cross-attention"
            start, found, _ = f".{above}.".partition(".decoder.")
            if found and any(f".{path}.".startswith(f"{start}.encoder.") for path in paths):
                yield ENCODER_DECODER
        if last == "conv" and module.has("in_proj", "out_proj", "conv"):
            yield "short convolution"


def _heads(filed: FiledClass) -> Iterator[str]:
    """Yield whether the heads have keys and values of their own, from the widths of all heads."""
    for module in filed.modules:
        if RECURRENT & module.shapes.keys():
            continue
        if (found := _widths(module)) is None:
            continue
        queries, keys = map(filed.value, found)
        if queries == keys:
            yield MULTI_HEAD
        elif queries.is_Integer and keys.is_Integer and keys > 0 and queries % keys == 0:
            yield MULTI_QUERY if 1 in filed.default("num_key_value_heads") else GROUPED


def _widths(module: FiledModule) -> tuple[Expr, Expr] | None:
    """Return the width of all query heads of an attention and of all key or value heads, or None."""
    shapes = module.shapes
    output = next((shapes[name][-1] for name in OUTPUTS if name in shapes), None)
    for query, key, value in PROJECTIONS:
        if module.has(query, key):
            # The projection of the queries can also compute a gate, so the values and the output say more.
            known = output is not None and value in shapes
            return (output, shapes[value][0]) if known else (shapes[query][0], shapes[key][0])
    fused = next((shapes[name][0] for name in FUSED if name in shapes), None)
    return (output, (fused - output) / 2) if fused is not None and output is not None else None


def _layers(filed: FiledClass) -> Iterator[str]:
    """Yield the mechanisms that the shapes of the weights of a layer show."""
    for module in filed.modules:
        shapes = module.shapes
        for gate, up, down in GATED:
            if module.has(gate, up, down) and shapes[gate] == shapes[up] == (*shapes[down][:-2], *shapes[down][:-3:-1]):
                yield "gated MLP"
        for both, down in GATED_AT_ONCE:
            if module.has(both, down) and shapes[both][-2:] == (2 * shapes[down][-1], shapes[down][-2]):
                yield "gated MLP"
        for name, shape in shapes.items():
            if DISTANCES.fullmatch(name):
                yield "relative positions"
            if POSITIONS.fullmatch(name) and len(shape) > 1 and filed.entry.config.model_type not in FIXED:
                yield "learned positions"
            if "*" in module.path and "conv" in name and len(shape) > 2:
                yield CONVOLUTION


def _inputs(filed: FiledClass) -> Iterator[str]:
    """Yield the inputs of the model besides tokens."""
    shapes = [shape for module in filed.modules for shape in module.shapes.values()]
    sizes = {size for shape in shapes for size in shape}
    read = {shape[1] for shape in shapes if len(shape) > 1}  # the channels or elements that a matrix or kernel reads
    colours = {shape[1] for shape in shapes if len(shape) > 3}
    if (
        any(filed.value(each) == COLOURS or filed.comes_from(each, IMAGE_CHANNELS) for each in colours)
        or any(filed.comes_from(each, part="vision") for each in sizes)
    ):  # fmt: skip
        yield "images"
        if any(filed.comes_from(shape[0], ("vocab_size",)) for shape in shapes if len(shape) == 2):
            yield VISION_TOWER
    if any(filed.comes_from(each, AUDIO) for each in read) or any(
        filed.comes_from(each, part="audio") for each in sizes
    ):
        yield "audio"


def _fields(filed: FiledClass) -> Iterator[str]:
    """Yield the mechanisms that the defaults of config fields turn on."""
    if any(isinstance(each, dict) and each for each in filed.default("rope_parameters")):
        yield "rotary positions"
    for value in filed.default("layer_types"):
        kinds = value.get(EACH, ()) if isinstance(value, Mapping) else value or ()
        if "sliding_attention" in kinds:
            yield "sliding window"
        if "chunked_attention" in kinds:
            yield "chunked attention"
    if any(each is not None for each in filed.default("attn_logit_softcapping")):
        yield "soft cap"


def _operations(filed: FiledClass) -> Iterator[str]:
    """Yield the mechanisms of the operations of a run."""
    for each in filed.operations:
        if each.kind is OperationKind.SCORES and each.mask != "causal":
            yield "bidirectional attention"
        if each.window is not None:
            yield "chunked attention" if each.chunked else "sliding window"
        if each.kind is OperationKind.CONVOLUTION and "*" in each.path:
            yield CONVOLUTION
        if each.logits and any("embed" in weight.path for weight in each.shared):
            yield "tied embeddings"
