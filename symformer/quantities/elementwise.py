"""Elementwise operations: the FLOPs of one element of the output, each formula written out and its operations counted.

An addition, a product, a division, a maximum, an exponential, a tanh and an erf are 1 each. A sum over a row is one
addition for each element. What is done once a row (the root of a variance, the division of a mean) is left out, as is
what is done once a run (a table of positions). Dropout is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sympy import Expr, Integer, Min, ceiling

from ..formulas.account import Term
from ..language.errors import RuleError
from ..language.shapes import Shape
from ..language.symbols import C
from ..ledger.facts import ARRANGING, MATCHING, MULTIPLYING, ROUTING, Entry, Kind, Weight
from .quantity import Conventions, Rule, nothing, refused, refusing, rows, unseen


class Count(NamedTuple):
    """The FLOPs of one element, and what they are."""

    flops: int
    steps: str


# Before scale and bias, which are 1 each where they are stored.
NORMS: Mapping[str, Count] = {
    "layer": Count(5, "sum for the mean, difference from it, square, sum for the variance, division by its root"),
    "layer_cast": Count(5, "sum for the mean, difference from it, square, sum for the variance, division by its root"),
    "l2": Count(3, "square, sum, division by the root"),
    "rms": Count(3, "square, sum, division by the root"),
    "rms_late": Count(3, "square, sum, division by the root"),
    "rms_uncast": Count(3, "square, sum, division by the root"),
}
ACTIVATIONS: Mapping[str, Count] = {
    "relu": Count(1, "max(x, 0)"),
    "tanh": Count(1, "tanh(x)"),
    "silu": Count(4, "x / (1 + exp(-x)): negation, exponential, sum, division"),
    "quick_gelu": Count(4, "x / (1 + exp(-1.702 * x)): product, exponential, sum, division"),
    "exp": Count(1, "exp(x)"),
    "gelu": Count(5, "x * 0.5 * (1 + erf(x / sqrt(2))): division, erf, sum, two products"),
    # one kernel of torch computes what the next writes out in Python
    "gelu_pytorch_tanh": Count(9, "0.5 * x * (1 + tanh(c * (x + 0.044715 * x * x * x))): as gelu_new"),
    "gelu_new": Count(9, "0.5 * x * (1 + tanh(c * (x + 0.044715 * x * x * x))): six products, two sums, tanh"),
}
EACH: Mapping[Kind, Count] = {
    Kind.SOFTMAX: Count(3, "exponential, sum, division; Hoffmann et al. 2022 [hoffmann2022], appendix F"),
    Kind.ROTATE: Count(3, "x * cos + x' * sin: two products and a sum; Su et al. 2021 [su2021], eq. 34"),
    Kind.ADD: Count(1, "a sum"),
    Kind.MULTIPLY: Count(1, "a product"),
}
BIAS = Count(1, "a sum")
SCALE = Count(1, "of a norm, a product")
ROOT = Count(1, "of a score, or of a query, a product by one over the root of a head's width")
LIFTED = Count(1, "of what is multiplied with 1 more than a tensor, a sum for each element of that")
MASK = Count(1, "of a score, a sum, where masked pairs are computed at all")


def stated() -> list[tuple[str, Count]]:
    """The whole table, by the names that a document prints."""
    rows = [(f"norm {name}", count) for name, count in NORMS.items()]
    rows += [(f"activation {name}", count) for name, count in ACTIVATIONS.items()]
    rows += [(kind.value, count) for kind, count in EACH.items()]
    return [*rows, ("bias", BIAS), ("scale", SCALE), ("scale of scores", ROOT), ("lifted", LIFTED), ("mask", MASK)]


def seen(entry: Entry) -> Expr:
    """The keys that one new token sees: those of C tokens before it, as far back as its window, and its own."""
    return (C if entry.window is None or entry.whole else Min(C, entry.window - 1)) + 1


def elements(shape: Shape, entry: Entry, conventions: Conventions) -> Shape:
    """The axes of a tensor, multiplied out to the elements that are computed of it.

    Of scores under a causal mask those are S² of each head, or S(S+1)/2 with attention=causal; a new token alone, which
    a rule asks for by attention=new, has C + 1 of them. Under a window of w tokens query i sees min(i, w) keys, which
    is m(2S - m + 1)/2 pairs for m = min(S, w). In chunks of w tokens, n = S/w rounded up, the first n - 1 chunks have
    w(w + 1)/2 pairs each, and the last, of r = S - (n - 1)w tokens, has r(r + 1)/2.
    """
    if entry.mask != "causal" or conventions["attention"] == "full":
        return shape
    *before, queries, keys = shape
    if conventions["attention"] == "new":
        return (*before, seen(entry))
    if entry.window is None:
        return (*before, queries * (keys + 1) / 2)
    if entry.chunked:
        full = ceiling(queries / entry.window) - 1
        last = queries - full * entry.window
        return (*before, (full * entry.window * (entry.window + 1) + last * (last + 1)) / 2)
    least = Min(queries, entry.window)
    return (*before, least, (2 * queries - least + 1) / 2)


def at_the_last(entry: Entry, conventions: Conventions) -> bool:
    """Whether an entry computes logits, and at the last position only. Raises RuleError where one rank alone has it."""
    if not entry.logits or conventions.get("logits") != "last":
        return False
    if conventions.get("context") == "on":
        raise RuleError(f"{entry.path}: with context=on one of N_cp ranks has the last position; logits=all is known")
    return True


def slid(entry: Entry, conventions: Conventions) -> Shape:
    """The places of a convolution: of one new token transformers computes two, from the places kept and its own."""
    if entry.causal and conventions.get("attention") == "new":
        return (*entry.output.shape[:2], Integer(2))
    return entry.output.shape


def linear(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The bias, once for each element."""
    shape = entry.summed or slid(entry, conventions)  # a bias is added to what is summed already
    if at_the_last(entry, conventions):
        shape = (shape[0], shape[-1])
    return (_times(entry, " (bias)", BIAS.flops, shape),) if _vectors(entry) else ()


def scores(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The scale, and the mask where masked pairs are computed at all."""
    shape = elements(entry.output.shape, entry, conventions)
    scales: dict[str, Shape | None] = {"scores": shape, "queries": entry.inputs[0].shape, "none": None}
    scales |= {"number": shape, "distances": None}
    if entry.function not in scales:
        raise RuleError(f"{entry.path}: whether the scores are scaled is not known")
    scaled = scales[entry.function]
    scale = (_times(entry, " (scale)", ROOT.flops, scaled),) if scaled else ()
    if entry.mask != "causal" or conventions["attention"] != "full" or entry.recalled:  # one sum of scores, one mask
        return scale
    return (*scale, _times(entry, " (mask)", MASK.flops, shape))


def softmax(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Each pair; a sink beside them has none. Raises RuleError."""
    if entry.shared:
        raise RuleError(f"{entry.path}: no count of FLOPs is stated for a softmax with a sink")
    return _by(EACH[Kind.SOFTMAX].flops)(entry, conventions)


def norm(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """As the norm does, and 1 for each of scale and bias."""
    return _by(_row(NORMS, entry) + SCALE.flops * len(_vectors(entry)))(entry, conventions)


def activation(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """As the function does."""
    return _by(_row(ACTIVATIONS, entry))(entry, conventions)


def multiply(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """A product for each element; and where that is with 1 more than a tensor, the sums that make it so."""
    product = _by(EACH[Kind.MULTIPLY].flops)(entry, conventions)
    lifted = entry.function == "lifted"
    return (*product, _times(entry, " (lifted)", LIFTED.flops, entry.inputs[1].shape)) if lifted else product


def rotate(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """What turns, which may be a part of each head: as much as there are angles for."""
    x, angles = entry.inputs
    return (_times(entry, "", EACH[Kind.ROTATE].flops, (*x.shape[:-1], angles.width)),)


def _by(flops: int) -> Rule:
    """So many FLOPs for each element of the output that is computed."""
    return lambda entry, conventions: (_times(entry, "", flops, elements(entry.output.shape, entry, conventions)),)


def _times(entry: Entry, what: str, flops: int, shape: Shape) -> Term:
    return Term(f"{entry.path}{what}", (*([Integer(flops)] if flops != 1 else []), *shape))


def _vectors(entry: Entry) -> list[Weight]:
    return [weight for weight in (*entry.weights, *entry.shared) if len(weight.shape) == 1]


ELEMENTWISE: Mapping[Kind, Rule] = refusing(
    "no count of FLOPs is stated for what this does element by element",
    {
        **rows(linear, *MULTIPLYING),
        Kind.SCORES: scores,
        Kind.NORM: norm,
        Kind.ACTIVATION: activation,
        **{kind: _by(count.flops) for kind, count in EACH.items()},  # add
        Kind.MULTIPLY: multiply,
        Kind.SOFTMAX: softmax,
        Kind.ROTATE: rotate,
        Kind.SCAN: refused("no count of FLOPs is stated for what a scan does element by element"),
        **rows(nothing, *MATCHING, Kind.LOOKUP, Kind.EXPERTS, Kind.PARAMETER, Kind.MIX),
        **rows(nothing, *ARRANGING),  # dropout is off, and positions are made once
        **rows(refused("no count of FLOPs is stated for choosing experts and weighing them"), *ROUTING),
        Kind.OBSERVED: unseen,
    },
)


def elementwise(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """What the elementwise operations of an entry come to. Raises RuleError for a function that has no row here."""
    return ELEMENTWISE[entry.kind](entry, conventions)


def _row(table: Mapping[str, Count], entry: Entry) -> int:
    if entry.function not in table:
        raise RuleError(f"{entry.path}: no count of FLOPs is stated for {entry.function!r}; known: {', '.join(table)}")
    return table[entry.function].flops
