"""Tensors that transformers saves on the CPU outside attention, for both attention implementations."""

from __future__ import annotations

from ...formulas.account import Term
from ...language.errors import RuleError
from ...ledger.facts import (
    ENDS,
    INDEXED,
    INTERPOLATED,
    MULTIPLYING,
    ONE,
    SCATTERED,
    Entry,
    OperationKind,
)
from ..quantity import Conventions, refuse, refuse_observed, refuse_others, rows
from .delta_rules import delta_rule
from .routed_experts import combine, experts, route
from .saves import LONG, SINGLE, SIZES, Saver, Saves, dropout, linear, lookup, made, none, single
from .scans import scan

RMS_NORMS = ("rms", "rms_uncast", "rms_late", "rms_single", "rms_offset", "rms_groups")


def convolution(entry: Entry, conventions: Conventions) -> Saves:
    """Return the input of a convolution, which may be the model's own input (pixels or audio)."""
    return Saves(given=entry.inputs)


def norm(entry: Entry, conventions: Conventions) -> Saves:
    """Return the tensors that a norm saves.

    LayerNorm: torch's kernel saves mean and 1/σ, on the CPU in the dtype of the input. RMSNorm, in Python: the input in
    float32, 1/σ in float32, and the normalized input; also the input itself if it is the one that is divided. If the
    scale is applied before the cast back, the normalized input is float32. If the stored parameter is the scale minus
    one, or is cast, the scale is a float32 tensor of its own.
    """
    if entry.function == "l2":
        one = (*entry.output.shape[:-1], ONE)
        names = ("sum of squares", "root")
        return Saves(entry.inputs, makes=tuple(made(entry, name, one, SIZES[conventions["dtype"]]) for name in names))
    if entry.function not in RMS_NORMS and entry.function not in ("layer", "layer_cast"):
        raise RuleError(f"{entry.path}: activation memory of the norm {entry.function!r} is not supported")
    size, one = SIZES[conventions["dtype"]], (*entry.output.shape[:-1], entry.groups)
    if entry.function == "layer":
        return Saves(entry.inputs, makes=(made(entry, "mean", one, size), made(entry, "1/σ", one, size)))
    makes: tuple[Term, ...]
    if entry.function == "layer_cast":
        makes = (made(entry, "mean", one, SINGLE), made(entry, "1/σ", one, SINGLE))
    else:
        size = SINGLE if entry.function not in ("rms", "rms_uncast") or entry.float32 else size
        makes = (made(entry, "1/σ", one, SINGLE),)
        if (entry.weights or entry.shared) and not entry.frozen:  # for the gradient of the scale
            makes += (made(entry, "normalised", entry.output.shape, size),)
        if entry.function == "rms_offset":
            makes += tuple(made(entry, "scale", weight.shape, SINGLE) for weight in entry.weights)
        if entry.function == "rms_single" and not single(conventions):
            makes += tuple(made(entry, "scale in float32", weight.shape, SINGLE) for weight in entry.weights)
    if single(conventions) or entry.function == "rms_groups":  # whose input is float32
        return Saves(entry.inputs, makes=makes)
    reads = entry.inputs if entry.function == "rms_uncast" else ()
    return Saves(reads, makes=(made(entry, "input in float32", entry.output.shape, SINGLE), *makes))


def activation(entry: Entry, conventions: Conventions) -> Saves:
    """Return the tensors that an activation saves: gelu_new, in Python, saves three intermediate products.

    It computes 0.5·x·(1 + tanh(c·(x + 0.044715·x³))).
    """
    if entry.float32 and not single(conventions):
        if entry.function != "silu":
            raise RuleError(f"{entry.path}: activation memory of {entry.function!r} in float32 is not supported")
        return Saves(makes=(made(entry, "input in float32", entry.output.shape, SINGLE),))
    match entry.function:
        case "gelu" | "gelu_pytorch_tanh" | "silu":
            return Saves(entry.inputs)
        case "quick_gelu":  # a product of x with sigmoid(1.702·x)
            return Saves(entry.inputs, makes=(made(entry, "sigmoid", entry.output.shape, SIZES[conventions["dtype"]]),))
        case "relu2":  # the square of relu(x), of which both save that
            return Saves(makes=(made(entry, "relu", entry.output.shape, SIZES[conventions["dtype"]]),))
        case "relu" | "tanh" | "sigmoid" | "exp":
            return Saves(output=True)
        case "gelu_new":
            names = ("0.5x", "tanh", "1 + tanh")
            size = SIZES[conventions["dtype"]]
            return Saves(entry.inputs, makes=tuple(made(entry, name, entry.output.shape, size) for name in names))
        case "xielu":  # in Python, as are its factors, which are computed from the stored parameters
            names, size = ("factor of x² times x", "exp(x) - 1", "exp(x) - 1 - x"), SIZES[conventions["dtype"]]
            makes = [made(entry, name, entry.output.shape, size) for name in names]
            makes += [made(entry, f"factor {each.path.rpartition('.')[2]}", each.shape, size) for each in entry.shared]
            return Saves(entry.inputs, makes=(*makes, made(entry, "x > 0", entry.output.shape, ONE)))
    raise RuleError(f"{entry.path}: activation memory of the function {entry.function!r} is not supported")


def multiply(entry: Entry, conventions: Conventions) -> Saves:
    """Return both operands, or only a table that the other is multiplied by; a product with a number saves nothing.

    If 1 is added to the second operand, both operands are clamped, too, as in gpt-oss: the first one before its
    activation.
    """
    if len(entry.inputs) == 1:
        return Saves()
    x, y = entry.inputs
    if entry.function == "lifted":
        size = SIZES[conventions["dtype"]]
        names = ("clamped gate", "clamped y + 1")
        return Saves((x, y), makes=tuple(made(entry, name, entry.output.shape, size) for name in names))
    return Saves(partly=((x, y.grad), (y, x.grad)))


def add(entry: Entry, conventions: Conventions) -> Saves:
    """Return nothing for a sum. Raises RuleError for an interpolation, whose product saves tensors."""
    if entry.function == INTERPOLATED:
        raise RuleError(f"{entry.path}: activation memory of an interpolation is not supported")
    return Saves()


def join(entry: Entry, conventions: Conventions) -> Saves:
    """Return nothing: joining tensors copies them. Replacing some of their tokens saves which: a byte for each.

    Raises RuleError for joins of windows and residual streams.
    """
    if entry.function == SCATTERED:
        return Saves(makes=(made(entry, "replaced", entry.output.shape[:2], ONE),))
    if entry.function not in ("", "tokens"):
        raise RuleError(
            f"{entry.path}: activation memory of residual streams, and of windows of an image, is not supported"
        )
    return Saves()


def select(entry: Entry, conventions: Conventions) -> Saves:
    """Return the two index tensors of a selection with one position per sequence; a view saves nothing.

    Raises RuleError for a part of a sequence, which later operations may copy.
    """
    if entry.function in ENDS:
        raise RuleError(f"{entry.path}: the tensors that torch saves for a part of a sequence are not known")
    if entry.function != INDEXED:
        return Saves()
    return Saves(makes=tuple(made(entry, name, entry.output.shape[:1], LONG) for name in ("sequences", "places")))


def match(entry: Entry, conventions: Conventions) -> Saves:
    """Return both operands."""
    return Saves(entry.inputs)


def rotate(entry: Entry, conventions: Conventions) -> Saves:
    return Saves(reads=entry.inputs[1:])


COMMON: dict[OperationKind, Saver] = refuse_others(
    "activation memory of this operation in transformers is not supported",
    {
        OperationKind.LOOKUP: lookup,
        **rows(linear, *MULTIPLYING),
        OperationKind.CONVOLUTION: convolution,
        OperationKind.NORM: norm,
        OperationKind.ACTIVATION: activation,
        OperationKind.MULTIPLY: multiply,
        OperationKind.DROPOUT: dropout,
        OperationKind.ROTATE: rotate,
        OperationKind.ADD: add,
        **rows(none, OperationKind.POSITIONS, OperationKind.PARAMETER, OperationKind.MOVE),
        OperationKind.SELECT: select,
        OperationKind.MATCH: match,
        OperationKind.CHOOSE: refuse("activation memory of the choice of keys is not supported"),
        OperationKind.COMPRESS: refuse("activation memory of compressed tokens is not supported"),
        OperationKind.JOIN: join,
        OperationKind.SCAN: scan,
        OperationKind.DELTA_RULE: delta_rule,
        OperationKind.RECURRENCE: refuse(
            "activation memory of a recurrence, which transformers runs token by token, is not supported"
        ),
        OperationKind.ROUTE: route,
        OperationKind.EXPERTS: experts,
        OperationKind.COMBINE: combine,
        OperationKind.OBSERVED: refuse_observed,
    },
)
