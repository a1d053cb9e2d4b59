"""Tensors that transformers saves for a gated delta rule on the CPU."""

from __future__ import annotations

from sympy import Expr, Integer, Max, Symbol, ceiling

from ...language.errors import RuleError
from ...language.shape_lines import Shape
from ...language.sizes import Condition, Excludes
from ...ledger.facts import ONE, ZERO, Entry, Ledger, OperationKind
from ..quantity import Conventions
from .saves import MINUS, SINGLE, Saves, is_one, made, single


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
    alone = (MINUS, is_one(chunks))
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
        ("states before chunks", (*every, keys, width)),
        ("corrected values", (*rows, width)),
    ]
    for name, shape in {
        "decayed q": (*rows, keys),
        "k decayed to the end": (*rows, keys),
        "decay to the end": rows,
        "decay of chunks": every,
    }.items():
        found += [(name, shape), (f"{name}, with a single chunk", (*shape, *alone))]
    found += [("q by value head", (*tokens, keys)), ("k by value head", (*tokens, keys))]
    alike = ZERO
    if single(conventions):
        alike = _equal(k.shape[1], v.shape[1])
        found.append(("q and k by value head, views", (MINUS, Integer(2), *tokens, keys, alike)))
        found += _without_padding(entry, alike)
    makes = [made(entry, name, shape, SINGLE) for name, shape in found]
    makes.append(made(entry, "mask of a chunk", (size, size), ONE))
    return Saves(makes=tuple(makes), partly=((q, alike),))


def _without_padding(entry: Entry, alike: Expr) -> list[tuple[str, Shape]]:
    """Return the copies of queries and keys for products, if the tokens fill all chunks.

    Padding copies them. Without it, they keep the order of their elements in memory: by token and then by head or, if
    there are as many heads of keys as of values (``alike`` is 1), by element and then by token, as in the output of the
    convolution. A product copies operands in such an order, unless there is a single chunk (of a single sequence).
    """
    _, k, v, *_ = entry.inputs
    batch, heads, length, _ = v.shape
    keys, size = k.width, entry.chunk or ONE
    chunks = ceiling(length / size)
    whole = _equal(length, size * chunks)
    rows, one_chunk = (batch, heads, chunks, size, keys), (Integer(2), batch, heads, size, keys)
    # Copies by chunk lack the first query and the last key; in other cases one tensor has all chunks.
    by_chunk = whole * (1 - alike) * (1 - is_one(batch)) * (1 - is_one(chunks))
    viewed = whole * (alike * is_one(chunks) + (1 - alike) * is_one(batch * chunks))
    found: list[tuple[str, Shape]] = [("decayed q and k, by chunk", (MINUS, *one_chunk))]
    found.append(("decayed q and k, of all chunks", (*one_chunk, 1 - by_chunk)))
    for name, times in {"q": ONE, "strengths times k": ONE, "transposed k": Integer(2)}.items():
        shape = (times, *rows)
        found += [
            (f"copies of {name}", shape),
            (f"copies of {name}, by padding", (MINUS, *shape, 1 - whole)),
            (f"copies of {name}, views", (MINUS, *shape, viewed)),
        ]
    return found


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
