"""Tensors that transformers saves for a gated delta rule on the CPU."""

from __future__ import annotations

from sympy import Expr, Integer, Max, Symbol, ceiling

from ...formulas.account import Term
from ...language.errors import RuleError
from ...language.shape_lines import Shape
from ...language.sizes import Condition, Excludes
from ...ledger.facts import ONE, ZERO, Entry, Ledger, OperationKind
from ..quantity import Conventions
from .saves import SINGLE, Saves, made, single
from .scans import MINUS, _one


def delta_rule(entry: Entry, conventions: Conventions) -> Saves:
    """Return the tensors of a gated delta rule, in float32, as its code pads, chunks and multiplies them.

    Queries and keys are copied for each value head or, in half precision, for the cast to float32. In single precision,
    with as many heads of keys as of values, both are views of the activation before them. The state before each chunk
    is saved. With a single chunk there is no later one that reads the decayed keys and the state after it.
    """
    kind = "with frozen weights" if entry.frozen else "with a decay for each row or token by token"
    if entry.frozen or entry.function or entry.chunk is None:
        raise RuleError(
            f"{entry.path}: activation memory of a delta rule {kind} is not supported; train-memory with "
            "implementation=none excludes activations"
        )
    q, k, v, decay, _ = entry.inputs
    batch, heads, length, width = v.shape
    keys, size = k.width, entry.chunk
    chunks = ceiling(length / size)
    every, tokens = (batch, heads, chunks), (batch, heads, length)
    rows, pairs = (*every, size), (*every, size, size)
    several = 1 - _one(chunks)
    found: list[tuple[str, Shape]] = [
        ("exp(A_log)", (heads,)),
        ("-exp(A_log)", (heads,)),
        ("input of softplus", decay.shape),
        ("steps", decay.shape),
        ("1/length of queries", tokens),
        ("1/length of keys", tokens),
        ("padded strengths", rows),
        ("padded v", (*rows, width)),
        ("padded k", (*rows, keys)),
        ("padded q", (*rows, keys)),
        ("strengths times k", (*rows, keys)),
        ("decay of pairs", pairs),
        ("products of keys", pairs),
        ("products of queries and keys", pairs),
        ("triangular system", pairs),
        ("decayed products of queries and keys", pairs),
        ("decay for the keys", rows),
        ("decay for the queries", rows),
        ("new values", (*rows, width)),
        ("decayed keys", (*rows, keys)),
        ("decayed q", (*rows, keys, several)),
        ("decay to the end", (*rows, several)),
        ("k decayed to the end", (*rows, keys, several)),
        ("decay of chunks", (*every, several)),
        ("states before chunks", (*every, keys, width)),
        ("corrected values", (*rows, width)),
    ]
    makes: list[Term] = [made(entry, name, shape, SINGLE) for name, shape in found]
    makes.append(made(entry, "mask of a chunk", (size, size), ONE))
    alike = _equal(k.shape[1], v.shape[1]) if single(conventions) else ZERO
    makes += [made(entry, f"{name} by value head", (*tokens, keys, 1 - alike), SINGLE) for name in ("q", "k")]
    if single(conventions):
        # Without padding, queries and keys keep the order of their elements in memory, by token and then by head or, as
        # views of the activation, by element and then by token. Products copy them, unless that order is theirs, too.
        whole = _equal(length, size * chunks)
        copied = whole * (alike * several + (1 - alike) * (1 - _one(batch * chunks)))
        makes += [made(entry, f"copy of {name}", (*rows, keys, copied), SINGLE) for name in ("q", "k")]
        makes.append(made(entry, "transposed copies of k", (Integer(2), *rows, keys, copied), SINGLE))
        by_chunk = (MINUS, Integer(2), batch, heads, size, keys)  # the first query and the last key are not copied
        unread = several * whole * (1 - alike) * (1 - _one(batch))
        makes.append(made(entry, "decayed q and k, copies by chunk", (*by_chunk, unread), SINGLE))
    return Saves(makes=tuple(makes), partly=((q, alike),))


def ordered_differently(ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
    """Return the conditions under which torch copies views of the inputs of delta rules in single precision."""
    if not single(conventions):
        return ()
    rules = [entry for _, entry in ledger if entry.kind is OperationKind.DELTA_RULE]
    sizes = {size for entry in rules for size in (entry.output.shape[1], entry.inputs[1].width)}
    because = "in that case torch saves views of the inputs of a delta rule instead of copies"
    return tuple(Excludes((size,), because) for size in sorted(sizes, key=str) if isinstance(size, Symbol))


def _equal(small: Expr, large: Expr) -> Expr:
    """Return 1 if two numbers are equal, and 0 if the second is larger."""
    return Max(0, 1 + small - large)
