"""What transformers keeps on the CPU of all but attention, however that is computed."""

from __future__ import annotations

from ...language.errors import RuleError
from ...ledger.facts import INDEXED, MULTIPLYING, ONE, ROUTING, Entry, Kind
from ..quantity import Conventions, refused, refusing, rows, unseen
from .saves import LONG, SINGLE, SIZES, Saver, Saves, dropout, linear, lookup, made, none, single


def convolution(entry: Entry, conventions: Conventions) -> Saves:
    """What it reads, the pixels or the sound that a model is given too."""
    return Saves(given=entry.inputs)


def norm(entry: Entry, conventions: Conventions) -> Saves:
    """Layer: torch's kernel keeps mean and 1/σ, on the CPU in the precision of what it is given.

    RMS: written out in Python, it keeps its input and 1/σ, in single precision, and the normalised input; and its input
    as it comes, where that is what is divided. Where the scale comes before the cast back, the product is of singles.
    """
    if entry.function == "l2":
        one = (*entry.output.shape[:-1], ONE)
        names = ("sum of squares", "root")
        return Saves(entry.inputs, makes=tuple(made(entry, name, one, SIZES[conventions["dtype"]]) for name in names))
    if entry.function not in ("layer", "layer_cast", "rms", "rms_uncast", "rms_late"):
        raise RuleError(f"{entry.path}: what transformers keeps of the norm {entry.function!r} is not known")
    size, one = SIZES[conventions["dtype"]], (*entry.output.shape[:-1], ONE)
    if entry.function == "layer":
        return Saves(entry.inputs, makes=(made(entry, "mean", one, size), made(entry, "1/σ", one, size)))
    if entry.function == "layer_cast":
        makes = (made(entry, "mean", one, SINGLE), made(entry, "1/σ", one, SINGLE))
    else:
        size = SINGLE if entry.function == "rms_late" else size
        makes = (made(entry, "1/σ", one, SINGLE), made(entry, "normalised", entry.output.shape, size))
    if single(conventions):
        return Saves(entry.inputs, makes=makes)
    reads = entry.inputs if entry.function == "rms_uncast" else ()
    return Saves(reads, makes=(made(entry, "input in float32", entry.output.shape, SINGLE), *makes))


def activation(entry: Entry, conventions: Conventions) -> Saves:
    """gelu_new is written out in Python, 0.5·x·(1 + tanh(c·(x + 0.044715·x³))), and keeps three products on the way."""
    match entry.function:
        case "gelu" | "gelu_pytorch_tanh" | "silu":
            return Saves(entry.inputs)
        case "quick_gelu":  # a product with what is made of the same x
            return Saves(entry.inputs, makes=(made(entry, "sigmoid", entry.output.shape, SIZES[conventions["dtype"]]),))
        case "relu" | "tanh" | "sigmoid" | "exp":
            return Saves(output=True)
        case "gelu_new":
            names = ("0.5x", "tanh", "1 + tanh")
            size = SIZES[conventions["dtype"]]
            return Saves(entry.inputs, makes=tuple(made(entry, name, entry.output.shape, size) for name in names))
    raise RuleError(f"{entry.path}: what transformers keeps of the function {entry.function!r} is not known")


def multiply(entry: Entry, conventions: Conventions) -> Saves:
    """Both sides; a number is none."""
    return Saves(entry.inputs if len(entry.inputs) > 1 else ())


def join(entry: Entry, conventions: Conventions) -> Saves:
    """Tokens before others are copied there, and nothing of them is kept."""
    if entry.function != "tokens":
        raise RuleError(
            f"{entry.path}: what transformers keeps of two tensors side by side, as latent attention has them, is not "
            "known"
        )
    return Saves()


def select(entry: Entry, conventions: Conventions) -> Saves:
    """Where each sequence has a position of its own, which sequence and which position; else a view keeps nothing."""
    if entry.function != INDEXED:
        return Saves()
    return Saves(makes=tuple(made(entry, name, entry.output.shape[:1], LONG) for name in ("sequences", "places")))


def match(entry: Entry, conventions: Conventions) -> Saves:
    """Both sides."""
    return Saves(entry.inputs)


def rotate(entry: Entry, conventions: Conventions) -> Saves:
    return Saves(reads=entry.inputs[1:])


COMMON: dict[Kind, Saver] = refusing(
    "what transformers keeps of such an operation is not known",
    {
        Kind.LOOKUP: lookup,
        **rows(linear, *MULTIPLYING),
        Kind.CONVOLUTION: convolution,
        Kind.NORM: norm,
        Kind.ACTIVATION: activation,
        Kind.MULTIPLY: multiply,
        Kind.DROPOUT: dropout,
        Kind.ROTATE: rotate,
        **rows(none, Kind.ADD, Kind.POSITIONS, Kind.PARAMETER, Kind.MOVE),
        Kind.SELECT: select,
        Kind.MATCH: match,
        Kind.JOIN: join,
        Kind.SCAN: refused("what transformers keeps of a scan, which it writes out token by token, is not known"),
        **rows(refused("what transformers keeps of experts is not known"), Kind.EXPERTS, *ROUTING),
        Kind.OBSERVED: unseen,
    },
)
