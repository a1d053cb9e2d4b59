"""The mechanisms of a model in one or two words each, such as "sliding window": the filters of an index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..algebra.structure_profile import StackProfile, profiles
from ..architectures.base_architecture import Architecture
from ..catalogue.entries import CatalogueEntry
from ..ledger.facts import OperationKind
from ..models.model import Model
from .catalogue_mechanisms import (
    CONVOLUTION,
    ENCODER_DECODER,
    GROUPED,
    MULTI_HEAD,
    MULTI_QUERY,
    VISION_TOWER,
    catalogue_mechanisms,
)


@dataclass(frozen=True)
class Mechanism:
    """A mechanism, found by a pattern in the phrases that describe an aspect of a structure."""

    name: str
    meaning: str
    aspect: str  # a key of ``StackProfile.aspects``
    pattern: str

    def is_in(self, stack: StackProfile) -> bool:
        """Return whether a stack of layers has the mechanism."""
        return any(re.search(self.pattern, phrase) for phrase in stack.aspects.get(self.aspect, ()))


# The mechanisms that differ between published models, in the order of a list.
MECHANISMS: tuple[Mechanism, ...] = (
    Mechanism("latent attention", "multi-head latent attention (MLA)", "mixer", "latent attention"),
    Mechanism("compressed attention", "attention to compressed keys", "mixer", "compressed key"),
    Mechanism("sparse attention", "an indexer chooses the keys of each query", "details", "an indexer"),
    Mechanism("sliding window", "attention within a window of tokens", "window", "sliding window"),
    Mechanism("chunked attention", "attention within chunks of tokens", "window", "within chunks"),
    Mechanism("attention sinks", "a learned sink logit of each head", "sinks", "sink"),
    Mechanism("query and key norms", "norms of queries and keys", "query and key norms", "norm"),
    Mechanism("attention gate", "a sigmoid gate on the output of attention", "details", "sigmoid gate"),
    Mechanism("soft cap", "a tanh soft cap on the scores", "details", "soft cap"),
    Mechanism("disentangled attention", "separate scores for tokens and distances", "mixer", "disentangled"),
    Mechanism("joint attention", "joint attention of a text and an image", "mixer", "joint attention"),
    Mechanism(
        "cross-attention", "attention to another sequence, such as an encoder's", "cross-attention", "cross-attention"
    ),
    Mechanism("state-space mixer", "a state-space mixer (Mamba, Mamba-2)", "mixer", "state-space"),
    Mechanism("linear attention", "linear attention with a delta rule", "mixer", "linear attention"),
    Mechanism("gated DeltaNet", "linear attention with a gated delta rule", "mixer", "Gated DeltaNet"),
    Mechanism("Kimi Delta Attention", "a gated delta rule with a decay per row", "mixer", "Kimi Delta"),
    Mechanism("linear recurrence", "a recurrent state with learned gates", "mixer", "recurrence"),
    Mechanism("time mixing", "RWKV's time mixing", "mixer", "time mixing"),
    Mechanism("short convolution", "a gated short convolution instead of attention", "mixer", "short convolution"),
    Mechanism("experts", "a mixture of experts", "MLP", "experts"),
    Mechanism("shared expert", "an expert that every token uses", "MLP", "shared expert"),
    Mechanism("gated MLP", "a gated feed-forward network (SwiGLU, GeGLU)", "MLP", " gated "),
    Mechanism("rotary positions", "rotary position embeddings (RoPE)", "positions", "rotary"),
    Mechanism("learned positions", "learned position embeddings", "positions", "learned position"),
    Mechanism(
        "relative positions", "learned biases or scores of distances", "positions", "learned biases|relative positions"
    ),
    Mechanism("ALiBi", "linear biases of the scores", "positions", "ALiBi"),
    Mechanism(
        "parallel block", "attention and the MLP in parallel", "arrangement", "attention and the MLP in parallel"
    ),
    Mechanism("post-norm", "a norm after each residual sum", "arrangement", "post-norm"),
    Mechanism("hyper-connections", "several residual streams", "residual", "residual streams"),
    Mechanism("shared layers", "layers that share their weights", "sharing", ""),
    Mechanism("adaptive norm", "scales and shifts from a condition (adaLN)", "conditioning", "adaLN"),
    Mechanism("images", "patches of images as input", "image", "patch"),
    Mechanism("audio", "audio as input", "audio", ""),
    Mechanism("bidirectional attention", "attention in both directions", "mask", "both directions"),
    Mechanism("tied embeddings", "an LM head tied to the token embedding", "head", "tied to the token"),
)
# The mechanisms that the number of heads, or the stacks and the operations together, show.
MEANINGS: Mapping[str, str] = {
    **{each.name: each.meaning for each in MECHANISMS},
    MULTI_HEAD: "as many key/value heads as query heads (MHA)",
    GROUPED: "fewer key/value heads than query heads (GQA)",
    MULTI_QUERY: "a single key/value head (MQA)",
    ENCODER_DECODER: "a decoder that attends to the output of an encoder",
    VISION_TOWER: "an encoder of images next to a model of text",
    CONVOLUTION: "convolutions inside the layers",
}


def mechanisms(model: Model, entry: CatalogueEntry | None = None) -> tuple[str, ...]:
    """Return the names of the mechanisms of a model, in the order of ``MEANINGS``.

    All mechanisms of a built-in architecture are known. Of a class of the catalogue, those that its entry proves.

    Parameters
    ----------
    model
        The model.
    entry
        The entry of a class of the catalogue.

    Examples
    --------
    >>> from symformer.targets.resolution import model
    >>> mechanisms(model("llama-3.2-1b"))
    ('gated MLP', 'rotary positions', 'tied embeddings', 'grouped-query attention')

    """
    found = {*(_built_in(model) if entry is None else catalogue_mechanisms(model, entry))}
    return tuple(name for name in MEANINGS if name in found)


def _built_in(model: Model) -> Iterator[str]:
    component = model.component
    if not isinstance(component, Architecture):
        return
    found = profiles(component)
    stacks = found.values()
    for each in MECHANISMS:
        if any(each.is_in(stack) for stack in stacks):
            yield each.name
    for stack in stacks:
        if stack.heads is not None and stack.kv_heads is not None:
            heads, kv_heads = stack.heads.xreplace(model.known), stack.kv_heads.xreplace(model.known)
            own = MULTI_HEAD if heads == kv_heads else GROUPED
            yield MULTI_QUERY if own == GROUPED and kv_heads == 1 else own
    images, tokens = (any(aspect in stack.aspects for stack in stacks) for aspect in ("image", "tokens"))
    if images and tokens:
        yield VISION_TOWER
    if {"encoder", "decoder"} <= found.keys():
        yield ENCODER_DECODER
    if any(each.kind is OperationKind.CONVOLUTION and "*" in each.path for _, each in component.ledger):
        yield CONVOLUTION


def mechanism_slug(name: str) -> str:
    """Return the file name of the page of a mechanism.

    >>> mechanism_slug("Kimi Delta Attention")
    'kimi-delta-attention'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower())
