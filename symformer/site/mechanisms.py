"""The mechanisms of a model in one or two words each, such as "sliding window": the filters of an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..algebra.structure_profile import StackProfile, profiles
from ..architectures.base_architecture import Architecture
from ..catalogue.measured_model import MeasuredModel
from ..language.errors import SymformerError
from ..ledger.facts import Entry, OperationKind
from ..models.model import Model


@dataclass(frozen=True)
class Mechanism:
    """A mechanism, found by a word in the phrases that describe an aspect of a structure."""

    name: str
    meaning: str
    aspect: str  # a key of ``StackProfile.aspects``
    word: str

    def is_in(self, stack: StackProfile) -> bool:
        """Return whether a stack of layers has the mechanism."""
        return any(self.word in phrase for phrase in stack.aspects.get(self.aspect, ()))


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
    Mechanism("cross-attention", "attention to the output of an encoder", "cross-attention", "cross-attention"),
    Mechanism("state-space mixer", "a state-space mixer (Mamba, Mamba-2)", "mixer", "state-space"),
    Mechanism("linear attention", "linear attention with a delta rule", "mixer", "linear attention"),
    Mechanism("gated DeltaNet", "linear attention with a gated delta rule", "mixer", "Gated DeltaNet"),
    Mechanism("Kimi Delta Attention", "a gated delta rule with a decay per row", "mixer", "Kimi Delta"),
    Mechanism("linear recurrence", "a recurrent state with learned gates", "mixer", "recurrence"),
    Mechanism("time mixing", "RWKV's time mixing", "mixer", "time mixing"),
    Mechanism("short convolution", "a gated short convolution instead of attention", "mixer", "short convolution"),
    Mechanism("experts", "a mixture of experts", "MLP", "experts"),
    Mechanism("shared expert", "an expert that every token uses", "MLP", "shared expert"),
    Mechanism("gated MLP", "a gated feed-forward network (SwiGLU, GeGLU)", "MLP", "a gated MLP"),
    Mechanism("rotary positions", "rotary position embeddings (RoPE)", "positions", "rotary"),
    Mechanism("learned positions", "learned position embeddings", "positions", "learned position"),
    Mechanism("relative positions", "learned biases or scores of distances", "positions", "learned biases"),
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
GROUPED, MULTI_QUERY = "grouped-query attention", "multi-query attention"
MEANINGS: Mapping[str, str] = {
    **{each.name: each.meaning for each in MECHANISMS},
    GROUPED: "fewer key/value heads than query heads (GQA)",
    MULTI_QUERY: "a single key/value head (MQA)",
}
# The same, from the kinds of operations of a class whose parts are not known.
_BY_KIND: Mapping[str, Callable[[Entry], bool]] = {
    "experts": lambda each: each.kind is OperationKind.EXPERTS,
    "state-space mixer": lambda each: each.kind is OperationKind.SCAN,
    "linear attention": lambda each: each.kind is OperationKind.DELTA_RULE,
    "linear recurrence": lambda each: each.kind is OperationKind.RECURRENCE,
    "rotary positions": lambda each: each.kind is OperationKind.ROTATE,
    "sparse attention": lambda each: each.kind is OperationKind.CHOOSE,
    "bidirectional attention": lambda each: each.kind is OperationKind.SCORES and each.mask != "causal",
}
# The same, from the sizes of such a class.
_BY_SIZE: Mapping[str, str] = {"X": "experts", "R_kv": "latent attention", "N_state": "state-space mixer"}


def mechanisms(model: Model) -> tuple[str, ...]:
    """Return the names of the mechanisms of a model, in the order of ``MEANINGS``; () if its operations are unknown.

    >>> from symformer.targets.resolution import model
    >>> mechanisms(model("llama-3.2-1b"))
    ('gated MLP', 'rotary positions', 'tied embeddings', 'grouped-query attention')
    """
    return tuple(dict.fromkeys(_found(model)))


def _found(model: Model) -> Iterator[str]:
    component = model.component
    if not isinstance(component, Architecture):
        yield from _of_operations(model)
        return
    stacks = profiles(component).values()
    for each in MECHANISMS:
        if any(each.is_in(stack) for stack in stacks):
            yield each.name
    for stack in stacks:
        if stack.heads is not None and stack.kv_heads is not None:
            heads, kv_heads = stack.heads.xreplace(model.known), stack.kv_heads.xreplace(model.known)
            if heads != kv_heads:
                yield MULTI_QUERY if kv_heads == 1 else GROUPED


def _of_operations(model: Model) -> Iterator[str]:
    """Yield the mechanisms of a class of the catalogue, from the operations of its run."""
    component = model.component
    sizes = {str(size): number for size, number in model.known.items()}
    yield from (name for size, name in _BY_SIZE.items() if sizes.get(size, 0) > 1)
    if "G" in sizes and sizes["G"] != sizes.get("A", sizes["G"]):
        yield MULTI_QUERY if sizes["G"] == 1 else GROUPED
    ledger = component.ledger
    if isinstance(component, MeasuredModel) and component.stored_run is not None:
        try:
            ledger = component.stored_run()
        except SymformerError:  # only its parameters are known
            return
    entries = [item for scope in ledger.root.walk() for item in scope.items if isinstance(item, Entry)]
    for name, holds in _BY_KIND.items():
        if any(map(holds, entries)):
            yield name
