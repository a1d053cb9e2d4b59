"""Rules for memory traffic: each operation reads or writes each of its tensors and weights once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sympy import Expr, Integer

from ..formulas.account import Term
from ..language.errors import RuleError
from ..language.symbols import S
from ..ledger.facts import (
    ARRANGING,
    ATTENDING,
    AVERAGED,
    COPIES,
    GATHERED,
    JOINED_STREAMS,
    MAGNITUDE,
    MATCHING,
    MULTIPLYING,
    POINTWISE,
    POOLED,
    RESAMPLED,
    ROUTING,
    ROW,
    SCATTERED,
    SHIFTED,
    SUMMED,
    UNWINDOWED,
    WINDOWS,
    Entry,
    OperationKind,
    Tensor,
)
from .blockwise import BLOCKWISE, is_blockwise, mix_by_block, scores_by_block, softmax_by_block
from .cache_rules import SIZES, cacheable, check_unsharded, tokens
from .elementwise import at_last_position
from .quantity import Convention, Conventions, Rule, counts_nothing, refuse, refuse_observed, rows

LONG = Integer(8)  # bytes of an index
OF_RUN = "dtype"  # the format of weights in the dtype of the run
Shape = tuple[Expr, ...]


def whole(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of an operation that reads its inputs and weights and writes its output."""
    tensors = [("input", _run(entry, tensor, conventions)) for tensor in entry.inputs]
    return _terms(entry, conventions, tensors, _run(entry, entry.output, conventions))


def lookup(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the indices, of the rows read, and of the output. Raises RuleError."""
    if entry.function == "distances" and conventions["phase"] == "decode":
        raise RuleError(f"{entry.path}: phase=decode does not support a table of distances; choose phase=prefill")
    index, rows = _run(entry, entry.inputs[0], conventions), _run(entry, entry.output, conventions)
    size = SIZES[conventions["dtype"]]
    read = () if in_format(conventions) else (Term(f"{entry.path} (rows)", (*rows, size)),)
    return (
        Term(f"{entry.path} (indices)", (*index, LONG)),
        *read,
        Term(f"{entry.path} (output)", (*rows, size)),
    )


def rows_read(entry: Entry, stored: Iterable[Term], conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the rows that a lookup reads from a table that is stored in a format."""
    table = (*entry.weights, *entry.shared)[0]
    *rows, _ = _run(entry, entry.output, conventions)
    return tuple(replace(term, factors=(*term.factors, *rows, 1 / table.shape[0])) for term in stored)


def in_format(conventions: Conventions) -> bool:
    """Return whether the weights are read in a format of their own instead of the dtype of the run."""
    return conventions.get("weights", OF_RUN) != OF_RUN


def linear(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of x, the weights and y. With logits=last, the LM head reads and writes one position."""
    x, y = (_run(entry, tensor, conventions) for tensor in (entry.inputs[0], entry.output))
    if at_last_position(entry, conventions):
        x, y = (x[0], x[-1]), (y[0], y[-1])
    return _terms(entry, conventions, [("input", x)], y)


def convolution(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the traffic of a run over all places: x and the weights are read, y is written.

    Raises RuleError for one new token: access to a convolution state depends on the kernel.
    """
    if conventions["phase"] == "decode":
        cacheable(entry)
        raise RuleError(f"{entry.path}: the bytes read and written of a convolution state depend on the kernel")
    return whole(entry, conventions)


def scores(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the queries, all keys and the scores. A fused kernel does not write the scores."""
    q, k = entry.inputs
    if is_blockwise(conventions):
        size = SIZES[conventions["dtype"]]
        return scores_by_block(entry, _run(entry, q, conventions), _cached(entry, k, conventions), size, conventions)
    reads = [("queries", _run(entry, q, conventions)), ("keys", _cached(entry, k, conventions))]
    return _terms(entry, conventions, reads, None if _fused(conventions) else _run(entry, entry.output, conventions))


def mix(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the attention weights, all values and the output. A fused kernel does not read weights."""
    p, v = entry.inputs
    if is_blockwise(conventions):
        size, y = SIZES[conventions["dtype"]], _run(entry, entry.output, conventions)
        read = _run(entry, p, conventions), _cached(entry, v, conventions)
        return mix_by_block(entry, *read, y, size, conventions)
    weights = [] if _fused(conventions) else [("weights", _run(entry, p, conventions))]
    reads = [*weights, ("values", _cached(entry, v, conventions))]
    return _terms(entry, conventions, reads, _run(entry, entry.output, conventions))


def join(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Tokens before others are read and written again."""
    if entry.function == SCATTERED:
        raise RuleError(f"{entry.path}: placing the tokens of images among text tokens is not supported")
    if entry.function in (WINDOWS, UNWINDOWED):
        raise RuleError(f"{entry.path}: the split of an image into windows is not supported")
    if entry.function == JOINED_STREAMS:
        raise RuleError(f"{entry.path}: residual streams, whose operations a kernel may fuse, are not supported")
    if entry.function in (COPIES, ROW):
        raise RuleError(f"{entry.path}: several rows of a token, such as residual streams, are not supported")
    if entry.function != "tokens":
        raise RuleError(f"{entry.path}: concatenating two tensors, as latent attention does, is not supported")
    return whole(entry, conventions)


def select(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return no terms for a position. Raises RuleError for a token shift and for columns of scores of distances."""
    if entry.function == SHIFTED:
        raise RuleError(f"{entry.path}: a token shift, which a kernel may fuse, is not supported")
    if entry.function in GATHERED:
        raise RuleError(f"{entry.path}: scores of distances, which no fused kernel computes, are not supported")
    return counts_nothing(entry, conventions)


def softmax(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of one score and one weight per query-key pair. A fused kernel moves neither."""
    if is_blockwise(conventions) and len(entry.output.shape) == 4:
        size = SIZES[conventions["dtype"]]
        return softmax_by_block(entry, _run(entry, entry.output, conventions), size, conventions)
    return () if _fused(conventions) else whole(entry, conventions)


def _fused(conventions: Conventions) -> bool:
    return conventions["kernels"] == "fused"


def _run(entry: Entry, tensor: Tensor, conventions: Conventions) -> Shape:
    """Return the shape of a tensor in the run. In a decoding step there is one query and all cached keys."""
    if conventions["phase"] == "prefill":
        return tensor.shape
    check_unsharded(entry, conventions)
    *before, last = tensor.shape
    keys = len(before) == 3  # [B,A,S,C]: only the last axis of a four-axis tensor counts keys
    return (*(_one(dim) for dim in before), last.xreplace({S: _seen(entry)}) if keys else _one(last))


def _one(dim: Expr) -> Expr:
    return dim.xreplace({S: Integer(1)})


def _seen(entry: Entry) -> Expr:
    """Return the number of keys that one new token sees: the cached ones and its own."""
    return tokens(entry, {"window": "needed"}) + 1


def _cached(entry: Entry, tensor: Tensor, conventions: Conventions) -> Shape:
    """Return the shape of all keys or values that the run reads."""
    if conventions["phase"] == "prefill":
        return tensor.shape
    cacheable(entry)
    batch, heads, length, width = tensor.shape
    return (batch, heads, length.xreplace({S: _seen(entry)}), width)


def _terms(
    entry: Entry, conventions: Conventions, reads: list[tuple[str, Shape]], writes: Shape | None
) -> tuple[Term, ...]:
    size = SIZES[conventions["dtype"]]
    terms = [Term(f"{entry.path} ({name})", (*shape, size)) for name, shape in reads]
    stored = {weight.path.rpartition(".")[2]: weight.shape for weight in (*entry.weights, *entry.shared)}
    if not in_format(conventions):  # else the quantity adds the weights as they are stored
        terms += [Term(f"{entry.path} ({name})", (*shape, size)) for name, shape in stored.items()]
    if writes is not None:
        terms.append(Term(f"{entry.path} (output)", (*writes, size)))
    return tuple(terms)


def _once(rule: Rule) -> Rule:
    """Return the rule without the encoder's operations in decoding steps, because the encoder has already run."""

    def terms(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
        if entry.output.encoded and conventions["phase"] == "decode":
            check_unsharded(entry, conventions)
            return ()
        if entry.kind is OperationKind.SELECT and conventions["phase"] == "decode":
            cacheable(entry)
        if entry.recalled and conventions["phase"] == "decode":
            raise RuleError(
                f"{entry.path}: phase=decode does not support keys that are recomputed for all cached tokens; choose "
                "phase=prefill"
            )
        return rule(entry, conventions)

    return terms


EXPERTS: Rule = refuse(
    "which experts' weights are read depends on the routing of the batch, so there is no closed form"
)


def combine(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Raise RuleError for the outputs of experts, a mean of positions or streams, and the sum or magnitude of a row."""
    if entry.function == SUMMED:
        raise RuleError(f"{entry.path}: the sum of a row is not supported")
    if entry.function == RESAMPLED:
        raise RuleError(f"{entry.path}: the mean of rows of a table is not supported")
    if entry.function in (AVERAGED, MAGNITUDE):
        raise RuleError(f"{entry.path}: residual streams, whose operations a kernel may fuse, are not supported")
    if entry.function == POOLED:
        raise RuleError(f"{entry.path}: the mean of neighbouring patches is not supported")
    return EXPERTS(entry, conventions)


_RULES: Mapping[OperationKind, Rule] = {
    OperationKind.LOOKUP: lookup,
    **rows(whole, *MULTIPLYING),
    OperationKind.LINEAR: linear,
    OperationKind.CONVOLUTION: convolution,
    OperationKind.SCORES: scores,
    **rows(whole, OperationKind.NORM, *POINTWISE, *MATCHING),
    OperationKind.SOFTMAX: softmax,
    OperationKind.MIX: mix,
    **rows(counts_nothing, OperationKind.PARAMETER, *ARRANGING),
    OperationKind.JOIN: join,
    OperationKind.SELECT: select,
    **rows(EXPERTS, OperationKind.EXPERTS, *ROUTING),
    OperationKind.COMBINE: combine,
    OperationKind.PRODUCT: refuse("memory traffic of a product of two computed tensors is not supported"),
    OperationKind.COMPRESS: refuse("the bytes read and written to compress tokens depend on the kernel"),
    OperationKind.CHOOSE: refuse("the bytes read and written to choose the keys of each query depend on the kernel"),
    OperationKind.SCAN: refuse("the bytes that a scan reads and writes of its state depend on the kernel"),
    OperationKind.DELTA_RULE: refuse("the bytes that a delta rule reads and writes of its state depend on the kernel"),
    OperationKind.RECURRENCE: refuse("the bytes that a recurrence reads and writes of its state depend on the kernel"),
    OperationKind.OBSERVED: refuse_observed,
}

RULES: Mapping[OperationKind, Rule] = {kind: _once(rule) for kind, rule in _RULES.items()}
ENCODER = "The encoder's pass is included with phase=prefill; with phase=decode its keys and values are cached."
PHASE = Convention(
    {
        "prefill": "one forward pass over B sequences of S tokens",
        "decode": "one new token in each of B sequences, with C tokens in the cache",
    }
)
KERNELS = Convention(
    {
        "separate": "scores, softmax and mix are separate operations",
        "fused": "attention is one kernel that neither reads nor writes scores and attention weights; Dao et al. 2022 "
        "[dao2022]",
        **BLOCKWISE,
    },
    lambda entry: entry.kind in ATTENDING,
)
