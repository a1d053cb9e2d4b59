"""The structure of a model in words: for each stack of layers, the phrases that describe its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sympy import Add, Expr

from ..architectures.base_architecture import Architecture
from ..components.base import Component
from ..components.compressed_attention import CompressedAttention
from ..components.convolutional_positions import ConvolutionalPositions
from ..components.cross_attention import CrossAttention
from ..components.disentangled_attention import DisentangledAttention
from ..components.dropout import Dropout
from ..components.gated_mlp import GatedMLP
from ..components.hyper_connection import HyperConnection
from ..components.identity import Identity
from ..components.image_attention import ImageAttention
from ..components.joint_attention import JointAttention
from ..components.laurel_block import LaurelBlock
from ..components.layer_norm import LayerNorm
from ..components.linear import Linear
from ..components.lm_head import LMHead
from ..components.mlp import MLP
from ..components.parallel_block import ParallelBlock
from ..components.parallel_sum import ParallelSum
from ..components.patch_embedding import PatchEmbedding
from ..components.patch_merger import PatchMerger
from ..components.per_layer_embedding import PerLayerEmbedding
from ..components.position_embedding import PositionEmbedding
from ..components.relative_attention import RelativeAttention
from ..components.rms_norm import RMSNorm
from ..components.segment_embedding import SegmentEmbedding
from ..components.self_attention import SelfAttention
from ..components.text_conditioning import TextConditioning
from ..components.token_embedding import TokenEmbedding
from ..components.wave_encoder import WaveEncoder
from ..formulas.totals import gathered, given_by
from ..language.notation.text import code
from ..language.symbols import P
from ..ledger.facts import INDEXED, Entry, OperationKind, Scope
from .structure_phrases import (
    ATTENTION,
    MIXERS,
    article,
    attention,
    cross_attention,
    mixer,
    mixer_details,
    network,
    norm_words,
    norms_of_heads,
    projections_with_bias,
    rotary,
)

ENCODER, DECODER, IMAGE, TEXT, ONLY = "encoder", "decoder", "image encoder", "text encoder", ""
# The modules between the convolutions over a sound wave and the layers, and a mask token, by their names in torch.
FRAMES, MASKED_FRAME = "feature_projection.", "masked_spec_embed"
VIDEO = 5  # axes of the kernels of a convolution over frames of images
VISION, LANGUAGE = "vision tower", "language model"  # of a multimodal model
_TOWERS = {
    "vision_model": IMAGE,
    "text_model": TEXT,
    "vision_tower": VISION,
    "visual": VISION,
    "language_model": LANGUAGE,
}
PROJECTORS = ("multi_modal_projector", "visual.merger", "visual.deepstack")  # by the starts of their names
# The part of the model that each aspect describes, in the order of a comparison. Every weight, product and cache
# entry belongs to one part.
PARTS: Mapping[str, str] = {
    "tokens": "token embedding",
    "embedding factor": "token embedding",
    "image": "image embedding",
    "audio": "audio embedding",
    "projector": "projector",
    "positions": "positions",
    "segments": "segment embedding",
    "embedding norm": "embedding norm",
    "conditioning": "conditioning",
    "mixer": "attention",
    "mask": "attention",
    "window": "attention",
    "scale": "attention",
    "details": "attention",
    "attention biases": "attention biases",
    "query and key norms": "query and key norms",
    "sinks": "attention sinks",
    "cross-attention": "cross-attention",
    "cross-attention biases": "cross-attention",
    "MLP": "MLP",
    "activation": "MLP",
    "routing": "MLP",
    "MLP biases": "MLP biases",
    "sublayers": "block",
    "arrangement": "block",
    "norms": "block",
    "residual": "residual branches",
    "sharing": "layers",
    "final norm": "final norm",
    "head": "head",
    "adapters": "adapters",
}
OTHER = "other"
A_TABLE = "a token embedding"
CAUSAL, BIDIRECTIONAL = "causal attention", "attention in both directions"  # the phrases of masks
_NUMBERS = {1: "one sublayer", 2: "two sublayers", 3: "three sublayers"}
_SIZE = re.compile(r"\{[^}]*\}")  # in a phrase
_LONG = 50  # characters of a phrase after which a comma precedes the layers that it holds for
# Aspects that every model with the part has in one form: a difference replaces one form by another.
CHOICES = (
    *("tokens", "input", "positions", "embedding norm", "mixer", "mask", "scale", "query and key norms"),
    *("cross-attention biases", "MLP", "activation", "routing", "sublayers", "arrangement", "norms"),
    *("final norm", "head"),
)
# Aspects that only models with attention, with a network or with experts have.
DETAILS = ("mask", "scale", "activation", "routing", "sublayers")


@dataclass
class StackProfile:
    """The description of one stack of layers, with its embedding and its output.

    Each aspect, a key of ``PARTS``, has its phrases in order, or none.
    """

    aspects: dict[str, tuple[str, ...]] = field(default_factory=dict)
    depth: Expr | None = None  # the number of layers
    width: Expr | None = None
    heads: Expr | None = None  # query heads
    kv_heads: Expr | None = None
    head_width: Expr | None = None
    hidden: Expr | None = None  # the width of the MLP
    length: Expr | None = None  # the number of positions that the layers process
    rows: Expr | None = None  # the number of rows of the table of learned positions

    def add(self, aspect: str, *phrases: str) -> None:
        """Add phrases that an aspect does not have yet."""
        self.aspects[aspect] = tuple(dict.fromkeys((*self.aspects.get(aspect, ()), *phrases)))


@dataclass(frozen=True)
class LayerStack:
    """A stack of layers in a ledger: the items before it, its kinds of layers, and the items after it."""

    before: tuple[Entry | Scope, ...]
    kinds: tuple[Scope, ...]
    after: tuple[Entry | Scope, ...]


def profiles(component: Component) -> dict[str, StackProfile]:
    """Return the description of each stack of a model, by the name of the stack, which is "" if there is only one.

    It includes weights that a published total excludes.
    """
    if isinstance(component, Architecture):
        counted: dict[str, Any] = dict.fromkeys(component.uncounted, True)
        component = replace(component, **counted)
    root = component.ledger.apart.root
    found = {name: _profile(component, name, stack) for name, stack in stacks_of(root).items()}
    if ENCODER in found and any(_is_shared_table(item) for item in _items(root)):
        found[ENCODER].add("tokens", f"{A_TABLE}, shared with the decoder,")
    return found


def _is_shared_table(item: Entry | Scope) -> bool:
    """Return whether an item is a token embedding that neither the encoder nor the decoder stores."""
    starts = (f"{ENCODER}.", f"{DECODER}.")
    return isinstance(item, Scope) and isinstance(item.part, TokenEmbedding) and not item.name.startswith(starts)


def part_structure(scope: Scope) -> tuple[str, ...]:
    """Return the phrases that describe one part of a model, such as the mask and the biases of attention.

    Sizes are left out.

    Examples
    --------
    >>> import symformer as sf
    >>> block = sf.model("gpt2").component.ledger.root.items[4]
    >>> part_structure(block.items[4])
    ('an MLP without a gate', 'GELU (tanh approximation)', 'biases in the MLP')

    """
    found = StackProfile()
    layer = _layer(found, scope)
    if isinstance(scope.part, LMHead):
        _after(found, scope)
    phrases = [*(each for aspect in layer.aspects.values() for each in aspect), *found.aspects.get("head", ())]
    return tuple(_SIZE.sub("{}", phrase) for phrase in phrases)


def stacks_of(root: Scope) -> dict[str, LayerStack]:
    """Return the stacks of a model by name: one, an encoder and a decoder, or its towers.

    The projector of a multimodal model is before the layers of its language model.
    """
    names = stack_names(root)
    items: dict[str, list[Entry | Scope]] = {name: [] for name in names}
    for item in sorted(_items(root), key=lambda item: in_towers(names) and not _is_tower(item)):  # towers first
        name = stack_name(_path(item), isinstance(item, Entry) and item.kind is OperationKind.CONVOLUTION, names)
        items[name] += item.items if isinstance(item, Scope) and _is_tower(item) else [item]
    return {name: _stack(each) for name, each in items.items()}


def stack_names(root: Scope) -> tuple[str, ...]:
    """Return the names of the stacks of a model."""
    towers = [_TOWERS[item.name] for item in _items(root) if isinstance(item, Scope) and _is_tower(item)]
    starts = {_path(item).partition(".")[0] for item in root.items if _is_kind(item)}
    return tuple(towers) or ((ENCODER, DECODER) if {ENCODER, DECODER} <= starts else (ONLY,))


def stack_name(path: str, convolution: bool, names: Sequence[str]) -> str:
    """Return the stack of an operation, given its path. Operations of no stack, such as a head, are of the last."""
    start = path.partition(".")[0]
    if path.startswith(PROJECTORS):
        return names[-1]
    if start in names or _TOWERS.get(start) in names:
        return _TOWERS.get(start, start)
    if in_towers(names) and start in _IMAGE_HEADS:
        return IMAGE
    return names[0] if convolution else names[-1]


_IMAGE_HEADS = ("visual_projection",)  # which CLIP stores next to its towers


def in_towers(names: Sequence[str]) -> bool:
    """Return whether the stacks are towers for images and texts, whose outputs are compared."""
    return IMAGE in names


def _items(root: Scope) -> Iterator[Entry | Scope]:
    """Yield the items of a model, including those of towers without a name, such as a language model and its head."""
    for item in root.items:
        if isinstance(item, Scope) and not item.name and _role(item.part) == "tower":
            yield from item.items
        else:
            yield item


def _is_tower(item: Entry | Scope) -> bool:
    return isinstance(item, Scope) and item.name in _TOWERS


def _path(item: Entry | Scope) -> str:
    return item.name if isinstance(item, Scope) else item.path


def _is_kind(item: Entry | Scope) -> bool:
    """Return whether an item is a layer, or a list of equal layers."""
    if isinstance(item, Scope) and item.parallel:
        return False
    return isinstance(item, Scope) and (item.repeated or _role(item.part) in ("block", "MLP"))


def _role(part: object) -> str:
    return part.role if isinstance(part, Component) else ""


def _stack(items: Sequence[Entry | Scope]) -> LayerStack:
    places = [place for place, item in enumerate(items) if _is_kind(item)]
    first, last = (places[0], places[-1]) if places else (len(items), len(items) - 1)
    kinds = tuple(item for item in items[first : last + 1] if isinstance(item, Scope) and _is_kind(item))
    return LayerStack(tuple(items[:first]), kinds, tuple(items[last + 1 :]))


def _profile(component: Component, name: str, stack: LayerStack) -> StackProfile:
    found = StackProfile()
    for item in stack.before:
        _before(found, item, name == ONLY)
    _layers(found, component, stack.kinds)
    for item in stack.after:
        _after(found, item)
    kinds = {
        "lora": "low-rank updates (LoRA)",
        "dora": "low-rank updates with trained magnitudes (DoRA)",
        "adapters": "bottleneck adapters",
    }
    for option, kind in kinds.items():
        if targets := getattr(component, option, ()):
            found.add("adapters", f"{kind} of {' and '.join(targets)}")
    return found


def _before(found: StackProfile, item: Entry | Scope, alone: bool) -> None:
    """Describe an item before the layers."""
    part = item.part if isinstance(item, Scope) else None
    match part:
        case PatchMerger(late=True) if isinstance(item, Scope):
            found.add("projector", f"{{{code(item.count)}}} patch mergers for outputs of earlier layers")
        case Component() if _path(item).startswith(PROJECTORS):
            found.add("projector", article(part.title[0].lower() + part.title[1:]))
        case TokenEmbedding(width=width):
            found.add("tokens", A_TABLE + ("" if str(width) == "E" else f" of width {{{code(width)}}}"))
        case PositionEmbedding(fixed=fixed, rows=rows):
            found.rows = rows
            kind = "stored sinusoidal positions" if fixed else "learned position embeddings"
            unused = "" if rows.is_Symbol or not rows.has(P) else f" with {{{code(rows - P)}}} unused rows"
            found.add("positions", f"{kind}{unused}")
        case SegmentEmbedding():
            found.add("segments", "an embedding of segments")
        case WaveEncoder(norm=norm, bias=bias):
            where = "a norm of the first" if norm == "group" else "a layer norm in each"
            found.add("audio", f"convolutions over a sound wave, with {where}" + " and biases" * bias)
        case ConvolutionalPositions():
            found.add("positions", "positions from a convolution")
        case LayerNorm() | RMSNorm() if _path(item).startswith(FRAMES):
            found.add("audio", "a layer norm of the frames")
        case PerLayerEmbedding():
            found.add("tokens", "embeddings of width {E_pli} for each layer")
        case Linear() if _path(item).startswith(FRAMES):
            found.add("audio", "a projection of the frames to the hidden size")
        case PatchEmbedding(bias=bias):
            found.add("image", "an embedding of image patches", *(["a bias of the patch embedding"] if bias else []))
        case LayerNorm() | RMSNorm():
            distances = alone and _path(item).startswith(
                "encoder.LayerNorm"
            )  # DeBERTa normalizes its embedding of distances
            where = "of the embedding of distances" if distances else "after the embedding"
            found.add("positions" if distances else "embedding norm", f"{article(norm_words(part, False))} {where}")
        case Component(role="embeddings") if part.name == "conditioning":
            found.add("conditioning", "an embedding of time steps and classes")
        case TextConditioning():
            found.add("conditioning", "an embedding of time steps and a pooled text")
        case Linear():
            found.add("tokens", "a projection of the token embedding to the hidden size")
    if isinstance(item, Scope):
        return
    match item.kind:
        case OperationKind.MULTIPLY:
            factor = f"√{{{code(item.output.width)}}}" if item.function == "root" else "a constant factor"
            found.add("embedding factor", f"a multiplication of the embeddings by {factor}")
        case OperationKind.CONVOLUTION if len(item.weights[0].shape) == VIDEO:
            found.add("image", "an embedding of image patches", "a bias of the patch embedding")
        case OperationKind.LOOKUP if item.function == "positions":
            found.add("positions", "learned position embeddings, interpolated between rows")
        case OperationKind.CONVOLUTION:
            found.add("audio", "convolutions over audio frames")
        case OperationKind.POSITIONS if item.function == "sinusoidal":
            found.add("positions", "sinusoidal positions")
        case OperationKind.PARAMETER if item.weights[0].path == MASKED_FRAME:
            found.add("audio", "a mask token")
        case OperationKind.PARAMETER if "pos" in item.weights[0].path:
            found.rows = item.weights[0].shape[-2]
            found.add("positions", "stored sinusoidal positions" if item.fixed else "learned position embeddings")
        case OperationKind.PARAMETER if "rel" in item.weights[0].path:
            found.add("positions", "an embedding of distances")
        case OperationKind.PARAMETER:
            for weight in item.weights:
                name = weight.path.rpartition(".")[2].replace("cls", "class").replace("_", " ")
                found.add("image", name if name.endswith("s") else f"a {name}")


def _after(found: StackProfile, item: Entry | Scope) -> None:
    """Describe an item after the layers."""
    part = item.part if isinstance(item, Scope) else None
    match part:
        case LayerNorm() | RMSNorm():
            found.add("final norm", f"{article(norm_words(part, False))} after the last layer")
        case LMHead():
            found.add("head", "an LM head tied to the token embedding" if part.tied else "an untied LM head")
            found.add("head", *(["a bias of the LM head"] if part.bias else []))
            found.add("head", *(["a tanh soft cap on the logits"] if part.capped else []))
        case Dropout():
            pass
        case Linear():
            found.add("head", _output_layer(part.bias))
        case Component():
            words = part.title[0].lower() + part.title[1:]
            found.add("head", article(words))
    if isinstance(item, Scope):
        return
    match item.kind:
        case OperationKind.MULTIPLY if item.function == "over root":
            found.add("head", "a division of the head's input by √{E}")
        case OperationKind.MULTIPLY if not item.inputs[1:]:
            found.add("head", "a constant factor of the logits")
        case OperationKind.LINEAR:
            found.add("head", _output_layer(any(weight.path.endswith(".bias") for weight in item.weights)))
        case OperationKind.SELECT if item.path.endswith(".end"):  # of a text encoder
            found.add("head", "the end-of-text token" if item.function == INDEXED else "the last token")
        case OperationKind.MATCH:
            found.add("head", "cosines of images and texts")
        case OperationKind.PARAMETER:
            for weight in item.weights:
                path = weight.path.removesuffix(".weight").removesuffix(".bias")
                found.add("head", f"a stored tensor {path.rpartition('.')[2]}")


def _output_layer(bias: bool) -> str:
    return f"a linear output layer {'with' if bias else 'without'} a bias"


@dataclass
class _Layer:
    """The phrases of one kind of layer. An aspect that the layer cannot have, such as a window, is missing."""

    count: Expr
    aspects: dict[str, list[str]] = field(default_factory=dict)

    def owner(self, aspect: str, phrase: str = "") -> str | None:
        """Return the mixer or the MLP of which a phrase is a detail; None for a phrase about the layer itself.

        A detail that all layers with its mixer have needs no number of layers of its own.
        """
        whole = self.aspects.get({"details": "mixer"}.get(aspect, aspect), [])
        return whole[0] if aspect in ("details", "MLP") and whole and phrase != whole[0] else None


def _layers(found: StackProfile, component: Component, kinds: Sequence[Scope]) -> None:
    """Describe the layers: a phrase that holds for some kinds only states the number of their layers."""
    layers = [_layer(found, each) for each in kinds]
    depth = Add(*(layer.count for layer in layers))
    found.depth = depth
    inputs = [item.inputs for kind in kinds for scope in kind.walk() for item in scope.items if isinstance(item, Entry)]
    shapes = [each[0].shape for each in inputs if each and len(each[0].shape) == 3]
    found.length, found.width = shapes[0][1:] if shapes else (None, None)
    total = next((name for name, value in component.totals.items() if value == depth), depth)
    if any(each.distinct is not None for each in kinds):
        found.add(
            "sharing",
            *(
                f"only {{{code(each.distinct)}}} layers with their own weights"
                for each in kinds
                if each.distinct is not None
            ),
        )
    for kind in kinds:
        for scope in kind.walk():
            if scope is not kind and scope.distinct is not None and _role(scope.part) == "block":
                blocks = code(scope.distinct * kind.count)
                found.add("sharing", f"{{{blocks}}} transformer blocks that {{{code(kind.count)}}} layers share")
    for aspect in PARTS:
        every = [layer for layer in layers if aspect in layer.aspects]
        for phrase in dict.fromkeys(phrase for layer in every for phrase in layer.aspects[aspect]):
            some = [layer for layer in every if phrase in layer.aspects[aspect]]
            owners = {layer.owner(aspect, phrase) for layer in some}
            having = every if None in owners else [layer for layer in every if layer.owner(aspect) in owners]
            count = gathered(Add(*(layer.count for layer in some)), given_by(component.totals, component.totals))
            comma = "," if "," in phrase or len(phrase) > _LONG else ""
            some_layers = f"{phrase.rstrip(',')}{comma} in {{{code(count)}}} of the {{{code(total)}}} layers"
            found.add(aspect, phrase if len(some) == len(having) else some_layers)


def _layer(found: StackProfile, kind: Scope) -> _Layer:
    layer = _Layer(kind.count)
    for aspect in ("mixer", "details", "MLP", "arrangement", "norms", "residual", "cross-attention", "conditioning"):
        layer.aspects[aspect] = []
    _arrangement(layer, kind)
    mixers: list[str] = []
    for scope in _sublayers(kind):
        part = scope.part
        if isinstance(part, MIXERS):
            mixers.append(mixer(part))
            layer.aspects["details"] += mixer_details(part)
            if isinstance(part, ATTENTION):
                _attention(found, layer, part, scope)
        elif isinstance(part, CrossAttention):
            layer.aspects |= cross_attention(part)
        elif isinstance(part, LayerNorm | RMSNorm):
            layer.aspects["norms"].append(f"{norm_words(part)}")
        elif _role(part) == "MLP":
            experts = any("experts" in each for each in layer.aspects["MLP"])
            for aspect, phrases in {"activation": [], "MLP biases": [], **network(part, experts)}.items():
                layer.aspects[aspect] = [*layer.aspects.get(aspect, ()), *phrases]
            found.hidden = part.hidden if isinstance(part, MLP | GatedMLP) else found.hidden
    sublayers = sum(_role(scope.part) != "norms" and not isinstance(scope.part, Identity) for scope in _sublayers(kind))
    sublayers -= max(len(mixers) - 1, 0)
    if _role(kind.part) == "block":
        layer.aspects["sublayers"] = [f"{_NUMBERS.get(sublayers, sublayers)} per layer"]
    if len(mixers) > 1:
        beside = any(isinstance(scope.part, ParallelSum) for scope in kind.walk())
        mixers = [f"{' and '.join(mixers)} in parallel" if beside else " followed by ".join(mixers)]
    layer.aspects["mixer"] = mixers
    for aspect, phrases in layer.aspects.items():
        layer.aspects[aspect] = list(dict.fromkeys(phrases))
    return layer


def _sublayers(kind: Scope) -> Iterator[Scope]:
    """Yield the sublayers and norms of a layer, including the terms of a sum of parallel parts."""
    if _role(kind.part) != "block":
        yield kind
        return
    for item in kind.items:
        if isinstance(item, Scope) and not isinstance(item.part, HyperConnection):
            yield from _sublayers(item) if _role(item.part) == "block" else (item,)


def _arrangement(layer: _Layer, kind: Scope) -> None:
    """Describe the places of the norms of a layer, and the factors of its sublayers."""
    part = kind.part
    name = part.name if isinstance(part, Component) else ""
    said = {
        "pre-norm-block": "a norm before each sublayer (pre-norm)",
        "deepstack-block": "a norm before each sublayer (pre-norm)",
        "hyper-connected-block": "a norm before each sublayer (pre-norm)",
        "layer-scale-block": "a norm before each sublayer (pre-norm)",
        "adaptive-block": "a norm before each sublayer (pre-norm)",
        "joint-block": "a norm before each sublayer (pre-norm)",
        "single-stream-block": "attention and the MLP in parallel, with one norm and one output matrix,",
        "post-norm-block": "a norm after each residual sum (post-norm)",
        "decoder-block": "a norm after each residual sum (post-norm)",
        "sandwich-block": "a norm before and a norm after each sublayer",
        "expert-sandwich-block": "a norm before and a norm after each sublayer, with the MLP next to the experts,",
        "shared-transformer-layer": "a norm before each sublayer (pre-norm)",
        "res-post-norm-block": "a norm after each sublayer, before the residual sum",
    }.get(name)
    if isinstance(part, ParallelBlock):
        shared = sum(_role(each) == "norms" for each in part.parts.values()) == 1
        said = "attention and the MLP in parallel, after " + ("one norm," if shared else "a norm each,")
    if said:
        layer.aspects["arrangement"].append(said)
    if any(isinstance(item, Scope) and isinstance(item.part, Identity) for item in kind.items):
        layer.aspects["arrangement"].append("no norm before attention")
    if name == "alt-up-block":
        layer.aspects["residual"].append("{N_alt} residual streams, with each layer on one of them (AltUp)")
        layer.aspects["residual"].append("an embedding of each token for each layer, added after the layer")
    if any(isinstance(item, Scope) and isinstance(item.part, LaurelBlock) for item in kind.items):
        layer.aspects["arrangement"].append("a norm before and a norm after each sublayer")
        layer.aspects["residual"].append("a learned residual of rank {R_lau} next to attention (LAuReL)")
    if name == "deepstack-block":
        layer.aspects["residual"].append("features of earlier layers of the vision tower, added after the layer")
    if name == "hyper-connected-block":
        layer.aspects["residual"].append("{N_hc} residual streams that hyper-connections mix at each sublayer")
    if name == "layer-scale-block":
        layer.aspects["residual"].append("a learned factor of each element of a sublayer's output (LayerScale)")
    if name in ("adaptive-block", "joint-block", "single-stream-block"):
        layer.aspects["conditioning"].append(
            "scales and shifts of each sublayer that a condition determines (adaLN-Zero)"
        )
    if any(isinstance(item, Scope) and isinstance(item.part, ParallelSum) and item.part.before for item in kind.items):
        layer.aspects["residual"].append("constant factors of the inputs and outputs of attention and the mixer")
    if any(
        isinstance(item, Entry) and item.kind is OperationKind.MULTIPLY and not item.inputs[1:] for item in kind.items
    ):
        whole = getattr(part, "factor", "")
        layer.aspects["residual"].append(f"a constant factor of each {'layer' if whole else 'sublayer'}'s output")
    if name == "shared-transformer-layer":
        layer.aspects["arrangement"].append("a projection of the shared block's output, added to the mixer's input")


def _attention(found: StackProfile, layer: _Layer, part: Component, scope: Scope) -> None:
    """Describe the attention of a layer."""
    entries = [item for each in scope.walk() for item in each.items if isinstance(item, Entry)]
    scores = next(entry for entry in entries if entry.kind is OperationKind.SCORES)
    positions = [rotary(part)] if any(entry.kind is OperationKind.ROTATE for entry in entries) else []
    positions += [_RELATIVE[name] for each in scope.walk() if (name := _name(each.part)) in _RELATIVE]
    if isinstance(part, SelfAttention) and part.own_table:
        positions = [f"{each}, with a table in each layer," for each in positions]
    if isinstance(part, ImageAttention) and part.relative:
        positions.append("relative positions of rows and columns in the scores, with tables in each layer,")
    if isinstance(part, RelativeAttention | DisentangledAttention):
        positions.append("relative positions in the scores")
    layer.aspects |= {
        "window": [],
        "query and key norms": [],
        "sinks": [],
        "attention biases": projections_with_bias(part),
        "mask": [CAUSAL if scores.mask == "causal" else BIDIRECTIONAL],
        "positions": positions,
    }
    if isinstance(part, JointAttention) and part.head_norm is not None:
        layer.aspects["query and key norms"] = [norms_of_heads(part.head_norm, "over each head")]
    if isinstance(part, CompressedAttention):
        layer.aspects["sinks"] = ["a learned sink logit of each head in the softmax"]
        layer.aspects["query and key norms"] = ["RMS norms of queries and keys, over each head"]
    if isinstance(part, SelfAttention):
        layer.aspects |= attention(part)
        if found.heads is None:
            found.heads, found.kv_heads, found.head_width = part.heads, part.kv_heads, part.head_width
        else:
            for own, first, words in (
                (part.kv_heads, found.kv_heads, "key/value heads"),
                (part.head_width, found.head_width, "elements in each head"),
            ):
                layer.aspects["details"] += [f"{{{code(own)}}} {words}"] if own != first else []


def _name(part: object) -> str:
    return part.name if isinstance(part, Component) else ""


_RELATIVE = {
    "alibi": "linear biases of the scores (ALiBi)",
    "relative-bias": "learned biases of the scores for each distance",
}
