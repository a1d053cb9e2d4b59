"""Elementwise operations: FLOPs per element of the output, counted operation by operation.

An addition, a product, a division, a maximum, an exponential, a tanh and an erf count 1 each. A sum over a row counts
one addition per element. Work done once per row (the root of a variance, the division of a mean) or once per run (a
table of positions) is excluded. Dropout is disabled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sympy import Expr, Integer, Min, ceiling, floor

from ..formulas.account import Term
from ..language.errors import RuleError
from ..language.shape_lines import Shape
from ..language.symbols import C
from ..ledger.facts import (
    ARRANGING,
    AVERAGED,
    INTERPOLATED,
    MAGNITUDE,
    MATCHING,
    MULTIPLYING,
    POOLED,
    RESAMPLED,
    ROUTING,
    STREAMS,
    SUMMED,
    WEIGHT_NORM,
    Entry,
    OperationKind,
    Weight,
)
from .quantity import Conventions, Rule, counts_nothing, refuse, refuse_observed, refuse_others, rows


class Count(NamedTuple):
    """The FLOPs of one element, and the operations they consist of."""

    flops: int
    steps: str


# Without scale and bias, which add 1 each if they are stored.
NORMS: Mapping[str, Count] = {
    "layer": Count(5, "sum for the mean, difference from it, square, sum for the variance, division by its root"),
    "channel": Count(5, "the same for each channel, over all positions"),
    "layer_cast": Count(5, "sum for the mean, difference from it, square, sum for the variance, division by its root"),
    "l2": Count(3, "square, sum, division by the root"),
    "rms": Count(3, "square, sum, division by the root"),
    "rms_late": Count(3, "square, sum, division by the root"),
    "rms_single": Count(3, "square, sum, division by the root"),
    "rms_uncast": Count(3, "square, sum, division by the root"),
    "gaussian_top_k": Count(
        6,
        "sum for the mean, difference from it, square, sum for the variance, difference from the threshold, max(x, 0)",
    ),
}
ACTIVATIONS: Mapping[str, Count] = {
    "relu": Count(1, "max(x, 0)"),
    "tanh": Count(1, "tanh(x)"),
    "silu": Count(4, "x / (1 + exp(-x)): negation, exponential, sum, division"),
    "quick_gelu": Count(4, "x / (1 + exp(-1.702 * x)): product, exponential, sum, division"),
    "exp": Count(1, "exp(x)"),
    "xielu": Count(
        10,
        "a * max(x, 0)**2 + b * (exp(min(x, 0)) - 1 - min(x, 0)) + x / 2: maximum, minimum, exponential minus 1, "
        "difference, four products, two sums",
    ),
    "gelu": Count(5, "x * 0.5 * (1 + erf(x / sqrt(2))): division, erf, sum, two products"),
    # the same function as gelu_new, in one kernel of torch
    "gelu_pytorch_tanh": Count(9, "0.5 * x * (1 + tanh(c * (x + 0.044715 * x * x * x))): as gelu_new"),
    "gelu_new": Count(9, "0.5 * x * (1 + tanh(c * (x + 0.044715 * x * x * x))): six products, two sums, tanh"),
}
EACH: Mapping[OperationKind, Count] = {
    OperationKind.SOFTMAX: Count(3, "exponential, sum, division; Hoffmann et al. 2022 [hoffmann2022], appendix F"),
    OperationKind.ROTATE: Count(3, "x * cos + x' * sin: two products and a sum; Su et al. 2021 [su2021], eq. 34"),
    OperationKind.ADD: Count(1, "a sum"),
    OperationKind.MULTIPLY: Count(1, "a product"),
}
BIAS = Count(1, "a sum")
SCALE = Count(1, "a product, for the scale of a norm")
ROOT = Count(1, "a product of each score (or query) with 1 / sqrt(head dimension)")
LIFTED = Count(1, "a sum for each element of y in x * (1 + y)")
NORMED = Count(4, "square, sum, division by the root, product, for each element of a normalized weight")
INTERPOLATION = Count(3, "x + w * (y - x): difference, product, sum")
MEAN = Count(1, "a sum for each element of a mean of positions, and a division for each mean")
RESAMPLE = Count(1, "a product and a sum for each element of the rows that are averaged, but no sum for the first row")
STREAMS_MEAN = Count(1, "a sum for each element of a mean of residual streams, and a division for each mean")
MAGNITUDES = Count(2, "square, sum, for each element of a row whose magnitude is computed")
ROW = Count(1, "a sum for each element of a row")
MASK = Count(1, "a sum for each score, if masked pairs are computed")


def printed_table() -> list[tuple[str, Count]]:
    """Return the whole table, by the names printed in documents."""
    rows = [(f"norm {name}", count) for name, count in NORMS.items()]
    rows += [(f"activation {name}", count) for name, count in ACTIVATIONS.items()]
    rows += [(kind.value, count) for kind, count in EACH.items()]
    return [
        *rows,
        ("bias", BIAS),
        ("scale", SCALE),
        ("scale of scores", ROOT),
        ("lifted", LIFTED),
        ("weight norm", NORMED),
        ("interpolation", INTERPOLATION),
        ("mean", MEAN),
        ("weighted mean", RESAMPLE),
        ("mean of streams", STREAMS_MEAN),
        ("magnitude", MAGNITUDES),
        ("sum of a row", ROW),
        ("mask", MASK),
    ]


def visible_keys(entry: Entry) -> Expr:
    """Return the number of keys one new token sees: the keys of C earlier tokens, within any window, and its own.

    Compressed keys are in addition: one for each group of tokens that is complete with the new token.
    """
    own = Integer(0) if entry.window == 0 else earlier_keys(entry) + 1
    return own if entry.compressed is None else own + floor((C + 1) / entry.compressed)


def earlier_keys(entry: Entry) -> Expr:
    """Return the number of C earlier tokens whose keys one new token sees."""
    return C if entry.window is None or entry.whole else Min(C, entry.window - 1)


def elements(shape: Shape, entry: Entry, conventions: Conventions) -> Shape:
    """Return factors whose product is the number of elements that are computed of a tensor.

    Scores under a causal mask have S² elements per head with attention=full and S(S+1)/2 with attention=causal. A
    single new token (attention=new) has C + 1. With a window of w tokens, query i sees min(i, w) keys:
    m(2S - m + 1)/2 pairs for m = min(S, w). With n = ceil(S/w) chunks of w tokens, the first n - 1 chunks have
    w(w + 1)/2 pairs each, and the last one, of r = S - (n - 1)w tokens, has r(r + 1)/2. If w keys are chosen for each
    query, the number of pairs is the same as in a window of w tokens. With an entry for each m tokens, query i sees
    floor(i/m) entries, or the K of them that are chosen: k(S + 1) - mk(k + 1)/2 pairs, for k = min(floor(S/m), K).

    Parameters
    ----------
    shape : Shape
        The shape of the tensor.
    entry : Entry
        The operation that computes it, with its mask and window.
    conventions : Conventions
        The conventions of the quantity.

    """
    if entry.mask != "causal" or conventions["attention"] == "full":
        return shape
    if entry.blocks and conventions["attention"] == "causal":
        raise RuleError(
            f"{entry.path}: attention=causal is not supported, because tokens of an image or of a prompt also attend "
            "to its later tokens; choose attention=full"
        )
    *before, queries, keys = shape
    if conventions["attention"] == "new":
        return (*before, visible_keys(entry))
    if entry.compressed is not None:
        return (*before, window_pairs(queries, entry.window) + compressed_pairs(queries, entry))
    limit = entry.window if entry.chosen is None else entry.chosen
    if limit is None:
        return (*before, queries * (keys + 1) / 2)
    if entry.window is not None and entry.chosen is not None:
        raise RuleError(f"{entry.path}: attention=causal does not support keys chosen within a window")
    if entry.chunked:
        full = ceiling(queries / limit) - 1
        last = queries - full * limit
        return (*before, (full * limit * (limit + 1) + last * (last + 1)) / 2)
    least = Min(queries, limit)
    return (*before, least, (2 * queries - least + 1) / 2)


def window_pairs(queries: Expr, window: Expr | None) -> Expr:
    """Return the pairs of queries and the tokens that they see, if the others have compressed keys."""
    if window == 0:
        return Integer(0)
    least = queries if window is None else Min(queries, window)
    return least * (2 * queries - least + 1) / 2


def compressed_pairs(queries: Expr, entry: Entry) -> Expr:
    """Return the pairs of queries and the compressed keys that they see: of complete groups, or the chosen."""
    size = entry.compressed or Integer(1)
    most = floor(queries / size)
    most = most if entry.chosen is None else Min(most, entry.chosen)
    return most * (queries + 1) - size * most * (most + 1) / 2


def at_last_position(entry: Entry, conventions: Conventions) -> bool:
    """Return True if an entry computes logits at the last position only. Raises RuleError with context=on."""
    if not entry.logits or conventions.get("logits") != "last":
        return False
    if conventions.get("context") == "on":
        raise RuleError(
            f"{entry.path}: with context=on only one of N_cp ranks has the last position; choose logits=all"
        )
    return True


def convolved_shape(entry: Entry, conventions: Conventions) -> Shape:
    """Return the output shape of a convolution. For one new token, transformers computes two positions."""
    if entry.causal and conventions.get("attention") == "new":
        return (*entry.output.shape[:2], Integer(2))
    return entry.output.shape


def linear(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of the bias: one per element."""
    shape = entry.summed or convolved_shape(entry, conventions)  # a bias is added after the sum over ranks
    if at_last_position(entry, conventions):
        shape = (shape[0], shape[-1])
    return (_times(entry, " (bias)", BIAS.flops, shape),) if _vectors(entry) else ()


def convolution(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of the bias and of the norm of the weight."""
    normed = [weight for weight in entry.weights if weight.path.endswith(WEIGHT_NORM[0])]
    return (
        *linear(entry, conventions),
        *(_times(entry, " (weight norm)", NORMED.flops, weight.shape) for weight in normed),
    )


def scores(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of the scale and, if masked pairs are computed, of the mask."""
    shape = elements(entry.output.shape, entry, conventions)
    scales: dict[str, Shape | None] = {"scores": shape, "queries": entry.inputs[0].shape, "none": None}
    scales |= {"number": shape, "distances": None, "rows": None, "columns": None}
    if entry.function not in scales:
        raise RuleError(f"{entry.path}: unknown scaling of the scores, so count=all is not supported")
    scaled = scales[entry.function]
    scale = (_times(entry, " (scale)", ROOT.flops, scaled),) if scaled else ()
    if entry.mask != "causal" or conventions["attention"] != "full" or entry.recalled:  # summed scores have one mask
        return scale
    return (*scale, _times(entry, " (mask)", MASK.flops, shape))


def softmax(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of a softmax over all pairs. Raises RuleError for a softmax with a sink."""
    if entry.shared:
        raise RuleError(f"{entry.path}: count=all does not support a softmax with a sink")
    return _by(EACH[OperationKind.SOFTMAX].flops)(entry, conventions)


def norm(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of the norm, plus 1 per element for each of scale and bias."""
    return _by(_row(NORMS, entry) + SCALE.flops * len(_vectors(entry)))(entry, conventions)


def activation(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of the activation function."""
    return _by(_row(ACTIVATIONS, entry))(entry, conventions)


def multiply(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of a product: one per element, plus one per element of y in x * (1 + y)."""
    product = _by(EACH[OperationKind.MULTIPLY].flops)(entry, conventions)
    lifted = entry.function == "lifted"
    return (*product, _times(entry, " (lifted)", LIFTED.flops, entry.inputs[1].shape)) if lifted else product


def add(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of a sum, or of an interpolation, for each element."""
    count = INTERPOLATION if entry.function == INTERPOLATED else EACH[OperationKind.ADD]
    return _by(count.flops)(entry, conventions)


def rotate(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of a rotation, for the tokens and the part of each head that have angles."""
    x, angles = entry.inputs
    turned = (*x.shape[:-2], angles.shape[1], angles.width)
    return (_times(entry, "", EACH[OperationKind.ROTATE].flops, turned),)


def _by(flops: int) -> Rule:
    """Return a rule with a fixed number of FLOPs per computed element of the output."""
    return lambda entry, conventions: (_times(entry, "", flops, elements(entry.output.shape, entry, conventions)),)


def _times(entry: Entry, what: str, flops: int, shape: Shape) -> Term:
    return Term(f"{entry.path}{what}", (*([Integer(flops)] if flops != 1 else []), *shape))


def _vectors(entry: Entry) -> list[Weight]:
    return [weight for weight in (*entry.weights, *entry.shared) if len(weight.shape) == 1]


EXPERTS: Rule = refuse("count=all does not support the routing and weighting of experts")


def combine(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of a sum of rows, a magnitude, or a mean: a sum for each element and a division for each mean.

    Raises RuleError for experts.
    """
    if entry.function == STREAMS:
        raise RuleError(f"{entry.path}: count=all does not support the weights of residual streams")
    if entry.function == SUMMED:
        return (_times(entry, "", ROW.flops, entry.inputs[0].shape),)
    if entry.function == RESAMPLED:
        return (
            _times(entry, " (products)", RESAMPLE.flops, entry.inputs[0].shape),
            _times(entry, " (sums)", RESAMPLE.flops * (int(entry.inputs[0].shape[-2]) - 1), entry.output.shape),
        )
    if entry.function == MAGNITUDE:
        return (_times(entry, "", MAGNITUDES.flops, entry.inputs[0].shape),)
    if entry.function not in (POOLED, AVERAGED):
        return EXPERTS(entry, conventions)
    return (
        _times(entry, " (sum)", MEAN.flops, entry.inputs[0].shape),
        _times(entry, " (division)", MEAN.flops, entry.output.shape),
    )


ELEMENTWISE: Mapping[OperationKind, Rule] = refuse_others(
    "count=all does not support the elementwise work of this operation",
    {
        **rows(linear, *MULTIPLYING),
        OperationKind.CONVOLUTION: convolution,
        OperationKind.SCORES: scores,
        OperationKind.NORM: norm,
        OperationKind.ACTIVATION: activation,
        OperationKind.ADD: add,
        OperationKind.MULTIPLY: multiply,
        OperationKind.SOFTMAX: softmax,
        OperationKind.ROTATE: rotate,
        OperationKind.SCAN: refuse("count=all does not support the elementwise work of a scan"),
        OperationKind.DELTA_RULE: refuse("count=all does not support the elementwise work of a delta rule"),
        OperationKind.RECURRENCE: refuse("count=all does not support the elementwise work of a recurrence"),
        **rows(
            counts_nothing,
            *MATCHING,
            OperationKind.LOOKUP,
            OperationKind.EXPERTS,
            OperationKind.PARAMETER,
            OperationKind.MIX,
        ),
        **rows(counts_nothing, *ARRANGING),  # dropout is disabled, and positions are computed once
        **rows(EXPERTS, *ROUTING),
        OperationKind.COMBINE: combine,
        OperationKind.CHOOSE: refuse("count=all does not support the choice of keys"),
        OperationKind.COMPRESS: refuse("count=all does not support the compression of tokens"),
        OperationKind.OBSERVED: refuse_observed,
    },
)


def elementwise(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of the elementwise operations of an entry. Raises RuleError for a function without a row."""
    return ELEMENTWISE[entry.kind](entry, conventions)


def _row(table: Mapping[str, Count], entry: Entry) -> int:
    if entry.function not in table:
        raise RuleError(f"{entry.path}: count=all does not support {entry.function!r}; supported: {', '.join(table)}")
    return table[entry.function].flops
