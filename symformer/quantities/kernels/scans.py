"""Tensors that transformers saves for a scan on the CPU."""

from __future__ import annotations

from sympy import Expr, ceiling

from ...language.errors import RuleError
from ...language.shape_lines import Shape
from ...ledger.facts import ONE, Entry, Tensor
from ..quantity import Conventions
from .saves import MINUS, SINGLE, SIZES, Saves, is_one, made, single


def stored_output(entry: Entry) -> Shape:
    """Return the shape in which a scan stores its output: with chunks, whole chunks of tokens."""
    batch, heads, _, width = entry.output.shape
    if entry.chunk is None:
        return entry.output.shape
    return batch, heads, _chunks(entry) * _size(entry), width


def scan(entry: Entry, conventions: Conventions) -> Saves:
    """Return the tensors of a scan. Raises RuleError for one whose weights are frozen."""
    if entry.frozen:
        raise RuleError(f"{entry.path}: activation memory of a scan with frozen weights is not supported")
    return by_token(entry, conventions) if entry.chunk is None else by_chunk(entry, conventions)


def by_token(entry: Entry, conventions: Conventions) -> Saves:
    """Return the tensors of a scan with a loop over S tokens, which saves a state for each and the first one.

    In half precision the states are float32, and the loop saves a copy of each in the dtype of the model, in which the
    first one is created. The layer that projects x copies it by token, unless there is a single sequence.
    """
    x, step, write, read = entry.inputs
    batch, channels, length, _ = x.shape
    state, model = write.width, SIZES[conventions["dtype"]]
    every = (batch, channels, length, state)
    found: list[tuple[str, Shape, Expr]] = [
        ("exp(A_log)", (channels, state), SINGLE),
        ("-exp(A_log)", (channels, state), SINGLE),
        ("x by token", step.shape, model),
        ("x by token, a view", (MINUS, *step.shape, is_one(batch)), model),
        ("input of softplus", step.shape, model),
        ("steps", step.shape, model),
        ("decay", every, SINGLE),
        ("steps times write", every, SINGLE),
        ("states", (batch, channels, length + 1, state), model),
    ]
    if single(conventions):
        reads: tuple[Tensor, ...] = (x, write, read)
    else:
        reads = (x, read)
        found += [
            ("write in float32", write.shape, SINGLE),
            ("x in float32", x.shape, SINGLE),
            ("states in float32", (batch, channels, length - 1, state), SINGLE),
            ("D in float32", (channels,), SINGLE),
        ]
    return Saves(reads, True, tuple(made(entry, name, shape, each) for name, shape, each in found))


def by_chunk(entry: Entry, conventions: Conventions) -> Saves:
    """Return the tensors of a chunked scan, in float32, as its code pads and multiplies them.

    Each einsum copies its inputs by chunk and head. In a single chunk of a single sequence, the reading and writing
    projections are views instead. In a single chunk, so are the products of x and the steps, whose tokens are
    contiguous in memory, and the first of the two states.
    """
    x, step, write, _ = entry.inputs
    batch, heads, _, width = x.shape
    size, chunks, state = _size(entry), _chunks(entry), write.width
    every, both = (batch, heads, chunks), (chunks + 1, chunks + 1)
    viewed = (MINUS, is_one(batch * chunks))
    values, projections = (*every, size, width), (*every, size, state)
    model = SIZES[conventions["dtype"]]
    found: list[tuple[str, Shape, Expr]] = [
        ("exp(A_log)", (heads,), SINGLE),
        ("-exp(A_log)", (heads,), SINGLE),
        ("input of softplus", step.shape, model),
        ("input of clamp", step.shape, model),
        ("clamped steps", step.shape, SINGLE),
        ("padded x", values, SINGLE),
        ("mask of a chunk", (size, size), ONE),
        ("its diagonal mask", (size, size), ONE),
        ("decay of pairs", (*every, size, size), SINGLE),
        ("read by head", projections, SINGLE),
        ("write by head", projections, SINGLE),
        ("pairs", (*every, size, size), SINGLE),
        ("decayed pairs", (*every, size, size), SINGLE),
        ("steps times x", values, SINGLE),
        ("decay to the end", (*every, size), SINGLE),
        ("padded write", projections, SINGLE),
        ("padded write, a view", (*projections, *viewed), SINGLE),
        ("decayed write", projections, SINGLE),
        ("steps times x for the states", values, SINGLE),
        ("steps times x for the states, a view", (MINUS, *values, is_one(chunks)), SINGLE),
        ("mask of chunks", both, ONE),
        ("their diagonal mask", both, ONE),
        ("decay of chunks", (batch, heads, *both), SINGLE),
        ("states", (batch, heads, chunks + 1, width, state), SINGLE),
        ("decay from the start", (*every, size), SINGLE),
        ("states before chunks", (*every, width, state), SINGLE),
        ("state after a single chunk", (*every, width, state, is_one(chunks)), SINGLE),
        ("read for the states", projections, SINGLE),
        ("read for the states, a view", (*projections, *viewed), SINGLE),
        ("output of the states", values, SINGLE),
    ]
    if not single(conventions):
        found += [("x in float32", x.shape, SINGLE), ("steps in float32", step.shape, SINGLE)]
    makes = tuple(made(entry, name, shape, each) for name, shape, each in found)
    return Saves((x,) if single(conventions) else (), True, makes)


def _size(entry: Entry) -> Expr:
    return entry.chunk or ONE


def _chunks(entry: Entry) -> Expr:
    return ceiling(entry.output.shape[2] / _size(entry))
