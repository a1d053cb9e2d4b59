"""Operations recognized in a trace: the rows of built-in models, and torch's counts.

A type takes seconds: a few run by default, and all with ``LIFTS=all`` in the environment.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, reduce
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sympy import Expr, Integer, Symbol, floor
from torch import nn

import symformer as sf
from symformer.architectures import architecture_class, names
from symformer.architectures.base_architecture import Architecture
from symformer.architectures.bases.stacked import Stacked
from symformer.catalogue.recognized_model import RecognizedModel
from symformer.language.symbols import SYMBOLS, named_symbol, symbol
from symformer.ledger.facts import Entry, OperationKind, Tensor, Weight
from symformer.witness import trace_recognition, trace_sources
from symformer.witness.dataflow_roles import Roles
from symformer.witness.recognition import Recognizer
from symformer.witness.recognition.observations import Observation, star, symbolic_shape
from symformer.witness.trace_result import Trace
from symformer.witness.transformers_classes import FIRST, of_head, types

from .samples import sampled
from .test_tiny_configs import B, C, S, counted

EVERY = os.environ.get("LIFTS") == "all"
COMPOSED = sorted(name for name in names() if architecture_class(name).witness.library == "transformers")
# Rows that are recognized differently from the built-in model.
APART = {
    "deepseek-v2": "its class does not run as its own default config says: no token has any experts",
    **dict.fromkeys(("mamba", "mamba2", "nemotron-h"), "a scan is seen as the products that it is run by"),
    **dict.fromkeys(("clip", "dinov2", "dinov3-vit", "sam", "siglip", "vit"), "an image is not tokens, and is not run"),
    "deberta-v2": "its class has no disentangled attention by default",
    "esm": "the default config of its class has no vocabulary",
    **dict.fromkeys(
        ("xlm-roberta", "camembert"), "torch names the table of tokens after its head, which the class creates first"
    ),
    "m2m-100": "the default config of its class skips layers in training",
    **dict.fromkeys(("hubert", "wav2vec2", "whisper"), "audio is not tokens, and is not run"),
    "llama4": "its code multiplies every token by all experts",
}
CHEAP = ("distilbert", "gpt1", "gpt2", "starcoder2")
# the cast of a norm to another precision, which a run in single precision does not show
CAST = re.compile("_(un)?cast$|_late$")
# What a run of torch shows; the others are elementwise, or are not computed at all.
LIFTS = (
    *(
        OperationKind.LOOKUP,
        OperationKind.LINEAR,
        OperationKind.CONVOLUTION,
        OperationKind.NORM,
        OperationKind.SCORES,
        OperationKind.MIX,
        OperationKind.EXPERTS,
        OperationKind.PARAMETER,
    ),
    *(OperationKind.SCAN, OperationKind.MATCH, OperationKind.CHOOSE, OperationKind.PRODUCT, OperationKind.OBSERVED),
)


DEPTH = "num_hidden_layers"  # a third of them may all have one kind, which no built-in model has
RUN = ("B", "S", "S_enc", "C")  # sizes of a run, which no config has


ASKED: dict[str, Any] = {}  # the arguments of the lift of each type


@cache
def lifted(model_type: str, head: str = "") -> Trace:
    """Return the lift of a type, with points at which it was compared with torch."""

    def lift(*asked: Any) -> Trace:
        ASKED[model_type] = asked
        return trace_recognition.lift(*asked)

    with patch.object(trace_sources, "lift", lift):
        return trace_sources.trace_type(model_type, head).for_quantity("active-params")


def rows(
    entries: Iterable[tuple[Expr, Entry]], numbers: Mapping[Symbol, int], name: Any = lambda path: path
) -> Counter[tuple[Any, ...]]:
    """Return every row by its path, with its kind, shapes, mask, weights and number of copies, at some sizes."""
    at = {size: Integer(number) for size, number in numbers.items()}

    def shape(each: Tensor | Weight) -> tuple[Expr, ...]:
        return tuple(dim.xreplace(at) for dim in each.shape)

    def held(weights: tuple[Weight, ...]) -> tuple[Any, ...]:
        return tuple(sorted((name(each.path), shape(each)) for each in weights))

    found: Counter[tuple[Any, ...]] = Counter()
    for count, entry in entries:
        if entry.kind in LIFTS:
            read, wrote = tuple(map(shape, entry.inputs)), shape(entry.output)
            if entry.kind in (
                OperationKind.LOOKUP,
                OperationKind.NORM,
            ):  # for one or for all sequences, with its tokens in one or two axes
                read, wrote = (), wrote[-1:]
            elif entry.kind is OperationKind.EXPERTS:  # per token, or once for each of the token's experts
                read = (read[0][-1:], read[1])
            back = entry.window if entry.mask == "causal" else None  # a bidirectional one changes no count
            window = back.xreplace(at) if back is not None else None
            # except for the order of computation
            function = entry.function if entry.kind in (OperationKind.NORM, OperationKind.LOOKUP) else ""
            function = CAST.sub("", function)
            if entry.kind is OperationKind.NORM and not entry.weights:  # elementwise
                continue
            facts = (function, entry.mask, window, entry.logits)
            alone = entry.kind is OperationKind.PARAMETER  # one row per weight, whether stored together or not
            for weights in [(each,) for each in entry.weights] if alone else [entry.weights]:
                row = (
                    name(entry.path),
                    entry.kind,
                    read,
                    wrote,
                    held(weights),
                    held(entry.shared),
                    facts,
                )
                found[row] += int(count.xreplace(at))
    return found


@pytest.mark.parametrize("name", [name for name in COMPOSED if name not in APART] if EVERY else sampled(4, CHEAP))
def test_recognized_rows_match_the_composed_rows(name: str, tmp_path: Path) -> None:
    """Compare row by row and by kind: paths except for our own names, shapes, copies, masks and shared weights."""
    fields = architecture_class(name).fields
    model_type = fields.model_types[0]
    heads = [head for head in FIRST if model_type in types(head)]
    source = next(each for head in heads if (each := of_head(model_type, head)).name in fields.classes)
    trace = lifted(model_type, source.run_as)
    point = {size: 3 * value if size == DEPTH else value for size, value in trace.checked[0].items()}
    path = tmp_path / "config.json"
    sizes: dict[str, Any] = {}
    for size, value in point.items():
        into, _, last = size.rpartition(".")
        if size not in RUN:
            (sizes.setdefault(into, {}) if into else sizes)[last] = value
    config = source.config(sizes)
    said = {**config.to_dict(), "architectures": [source.name]}
    path.write_text(json.dumps({name: value for name, value in said.items() if name != "qk_head_dim"}), "utf-8")
    model = sf.from_config(str(path))
    ours = model.component
    assert isinstance(ours, Architecture)
    run = {symbol(each): point[each] for each in RUN if each in point}

    def renamed(path: str) -> str:
        path = f"{star(path)}.".removeprefix(ours.witness.prefix).rstrip(".")
        for name, to in ours.witness.rename.items():
            path = path.replace(star(name), star(to))
        several = isinstance(ours, Stacked) and len(ours.stacks) > 1  # torch has all of them in one list
        return re.sub(r"^\w+\.\*", "layers.*", path) if several else path

    letters = {trace.letters[size]: value for size, value in point.items() if size in trace.letters}
    cores = {entry.path for _, entry in model.ledger if entry.kind in (OperationKind.SCORES, OperationKind.MIX)}

    def placed(path: str) -> str:
        """Torch may run the core of an attention in a separate module, which is not one of our parts."""
        path = renamed(path)
        above = re.sub(r"\.\w+\.(scores|mix)$", r".\1", path)
        return above if above in cores and path not in cores else path

    theirs = rows(trace.model.ledger, {named_symbol(letter): value for letter, value in letters.items()}, placed)
    composed = rows(model.ledger, {**model.known, **run}, renamed)
    assert theirs
    assert composed == theirs


@pytest.mark.parametrize(
    ("quantity", "ways"),
    [
        *(
            ("active-params", {}),
            ("inference-memory", {"weights": "fp8", "cache": "fp16"}),
            ("kv-cache", {"tokens": "one"}),
        ),
        *((name, ways) for name in ("flops", "prefill-flops") for ways in ({"attention": "causal", "logits": "last"},)),
        *(("train-flops", {"attention": "causal", "recompute": "selective"}), ("flops", {"embedding": "matmul"})),
        *(("decode-flops", {}), ("generation-flops", {"attention": "causal"}), ("communication", {"data": "zero3"})),
        *(("train-memory", {"implementation": "none", "optimizer": "adafactor", "recipe": "bf16"}),),
    ],
)
def test_recognized_model_answers_like_the_composed_model(quantity: str, ways: dict[str, str]) -> None:
    """GPT-2, with the same rules under the same conventions; its H is 4E by default."""
    composed = sf.architecture("gpt2").formula(quantity, **ways).partial(H="4*E")
    found = lifted("gpt2", "causal").model.formula(quantity, **ways)
    assert composed.expanded != 0
    assert found.equals(composed.code())


# Types without a built-in model, or with features that built-in models lack, and small configs in which all sizes
# differ.
SMALL: dict[str, dict[str, Any]] = {
    "gpt_bigcode": {"vocab_size": 61, "n_positions": 37, "n_embd": 24, "n_layer": 3, "n_head": 4},
    "codegen": {**{"vocab_size": 61, "n_positions": 37, "n_embd": 32, "n_layer": 3, "n_head": 4, "rotary_dim": 6}},
    "xglm": {
        **{"vocab_size": 61, "max_position_embeddings": 37, "d_model": 24, "num_layers": 3, "attention_heads": 4},
        **{"ffn_dim": 44},
    },
    "qwen3_moe": {
        **{"vocab_size": 61, "hidden_size": 48, "moe_intermediate_size": 22, "num_hidden_layers": 3},
        **{"num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 9, "num_experts_per_tok": 3},
        **{"intermediate_size": 44},
    },
    "glm": {
        **{"vocab_size": 61, "hidden_size": 48, "intermediate_size": 44, "num_hidden_layers": 3, "head_dim": 10},
        **{"num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0},
    },
}


@pytest.mark.parametrize("model_type", SMALL if EVERY else ("codegen",))
def test_recognized_model_matches_torch(model_type: str) -> None:
    """In real memory, at sizes that no trace sampled: parameters, forward, training and decode FLOPs."""
    trace = lifted(model_type)
    source = of_head(model_type)
    theirs = counted({**SMALL[model_type], "model_type": model_type, "architectures": [source.name]})
    assert all(theirs.values())
    sizes = {**trace_sources.whole_numbers(source.config(SMALL[model_type])), "B": B, "S": S, "C": C}
    known = {letter: sizes[name] for name, letter in trace.letters.items() if name in sizes}
    ours = {}
    for quantity in theirs:
        formula = trace.model.formula(quantity)
        ours[quantity] = formula.value({letter: known[letter] for letter in map(str, formula.dependencies)})
    assert ours == theirs


FORWARD = {"params", "active-params", "flops", "train-flops"}
EVERYTHING = FORWARD | {"prefill-flops", "kv-cache", "decode-flops", "generation-flops", "inference-memory"}
# Quantities that torch confirms for types that differ from decoders, and the first refusal.
CONFIRMED = {
    ("fnet", "masked"): (FORWARD, "no cache"),  # its pooler runs, but no trained weight depends on it
    ("t5", "seq2seq"): (EVERYTHING, ""),  # tokens of two lengths, and a cache of the encoder's output
    ("bart", "causal"): (EVERYTHING, ""),  # a decoder alone, whose config states the encoder's depth
    ("qwen3_asr", "seq2seq"): (EVERYTHING, ""),  # stored as one, and it reads one length
    ("albert", "masked"): (FORWARD, "not causal"),  # layers that run several times
    ("squeezebert", "masked"): (FORWARD, "convolution"),  # grouped channels
    ("modernbert", "masked"): (FORWARD, "not causal"),  # two-sided windows
    ("cohere2", "causal"): (EVERYTHING, ""),  # windows, and none in deeper layers
    ("longt5", "seq2seq"): (EVERYTHING, ""),  # products of blocks in its encoder
}


@pytest.mark.parametrize(("model_type", "head"), CONFIRMED if EVERY else [("fnet", "masked")])
def test_recognized_quantities_are_confirmed_by_torch_or_refused(model_type: str, head: str) -> None:
    expected, why = CONFIRMED[model_type, head]
    component = lifted(model_type, head).model.component
    assert isinstance(component, RecognizedModel)
    assert not [entry.path for _, entry in component.rows if entry.kind is OperationKind.OBSERVED]
    assert component.confirmed.keys() == expected
    assert component.refusals.keys() == EVERYTHING - expected
    assert why in next(iter(component.refusals.values()), "")


def heads_for_groups(entry: Entry) -> Entry:
    """Give every query head its own keys, in a model whose heads share them."""
    if entry.kind is not OperationKind.SCORES:
        return entry
    q, k = entry.inputs
    return replace(entry, inputs=(q, replace(k, shape=(k.shape[0], q.shape[1], *k.shape[2:]))))


def without_a_bias(entry: Entry) -> Entry:
    if not entry.path.endswith("q_proj"):
        return entry
    assert len(entry.weights) == 2
    return replace(entry, weights=entry.weights[:1])


def squared(entry: Entry) -> Entry:
    """Return a matrix [out, out] instead of [out, in]."""
    if not entry.path.endswith("c_fc"):
        return entry
    x, y = entry.inputs[0], entry.output
    wide = replace(x, shape=(*x.shape[:-1], y.shape[-1]))
    return replace(entry, inputs=(wide,))


def without_a_gradient(entry: Entry) -> Entry:
    """Return a product of two tensors, one of which needs no gradient."""
    if entry.kind is not OperationKind.PRODUCT:
        return entry
    x, y = entry.inputs
    assert x.grad == y.grad == 1
    return replace(entry, inputs=(replace(x, grad=Integer(0)), y))


def over_fewer_channels(entry: Entry) -> Entry:
    """Return a convolution over one channel, read by one channel."""
    if entry.kind is not OperationKind.CONVOLUTION:
        return entry
    batch, _, *places = entry.output.shape
    return replace(entry, output=replace(entry.output, shape=(batch, Integer(1), *places)))


def without_a_mask(entry: Entry) -> Entry:
    return replace(entry, mask="none")


@pytest.mark.parametrize(
    ("model_type", "changes", "refused"),
    [
        (
            "starcoder2",
            (heads_for_groups, without_a_bias, squared),
            {"kv-cache": r"self_attn\.scores \(keys\): formula", "params": "q_proj", "train-flops": "c_fc"},
        ),
        ("starcoder2", (without_a_mask,), {"decode-flops": "not causal", "generation-flops": "not causal"}),
        *(  # half a CPU minute
            [
                (
                    "mamba",
                    (without_a_gradient, over_fewer_channels),
                    {"flops": r"mixer\.conv1d: formula", "train-flops": r"mixer\."},
                )
            ]
            if EVERY
            else []
        ),
    ],
)
def test_misrecognized_rows_are_refused(model_type: str, changes: Any, refused: Mapping[str, str]) -> None:
    """StarCoder2 has biases and shared keys; Mamba has a convolution and a product of its state."""
    right = lifted(model_type, "causal").model.component
    assert isinstance(right, RecognizedModel)
    assert refused.keys() <= right.confirmed.keys()
    read = Recognizer.rows

    def misread(self: Recognizer) -> Any:
        for count, entry in read(self):
            yield count, reduce(lambda each, change: change(each), changes, entry)

    with patch.object(Recognizer, "rows", lambda self: tuple(misread(self))):
        wrong = trace_recognition.lift(*ASKED[model_type]).model.component
    assert isinstance(wrong, RecognizedModel)
    for quantity, row in refused.items():
        with pytest.raises(sf.SymformerError, match=row):
            wrong.formula(quantity)


def test_axis_is_a_number_only_if_no_size_matches() -> None:
    Z, Z_patch = SYMBOLS["Z"], SYMBOLS["Z_patch"]
    patches = floor(Z / Z_patch) ** 2
    # 168/14 equals 144/12: both runs have 12² patches, so the axis has the same length in both
    runs = [({Z: 168, Z_patch: 14}, (144, 4)), ({Z: 144, Z_patch: 12}, (144, 4))]
    seen = [(Observation(Roles(nn.Identity(), {}), numbers), shape) for numbers, shape in runs]
    assert symbolic_shape(seen, [patches]) == (patches, Integer(4))
    assert symbolic_shape(seen) == (Integer(144), Integer(4))
