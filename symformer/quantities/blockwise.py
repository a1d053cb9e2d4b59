"""What attention reads and writes block by block: FlashAttention's algorithms, read for the loads and stores they make.

Each query head is by itself, as in both papers: heads that share keys and values each load them. All elements have as
many bytes, those of the statistics too, and every block is counted, masked or not.
"""

from __future__ import annotations

from sympy import Expr, ceiling

from ..formulas.account import Term
from ..language.errors import RuleError
from ..language.symbols import C_kv, C_q
from ..ledger.facts import ONE, Entry
from .quantity import Conventions

BLOCKWISE = {
    "flash": "attention is one kernel by algorithm 1 of Dao et al. 2022 [dao2022]: of each query head, every block of "
    "C_kv keys and values is read once; for each of them all queries, the output and two statistics a query are read, "
    "and the output and the statistics, which were written once before, are written again; masked or not",
    "flash2": "attention is one kernel by algorithm 1 of Dao 2023 [dao2023]: of each query head, every block of C_q "
    "queries is read once; for each of them all keys and values are read, and the output and one statistic a query are "
    "written; masked or not",
}
Shape = tuple[Expr, ...]


def is_blockwise(conventions: Conventions) -> bool:
    """Whether attention is read and written block by block."""
    return conventions["kernels"] in BLOCKWISE


def times(length: Expr, size: Expr) -> Expr:
    """How many blocks of a size there are; one token is one block."""
    return ONE if length == 1 else ceiling(length / size)


def scores_by_block(entry: Entry, q: Shape, k: Shape, size: Expr, conventions: Conventions) -> tuple[Term, ...]:
    """Queries [B,A,S,D] and keys [B,G,C,D], each of which all A query heads load."""
    _hold(entry, conventions)
    batch, heads, length, width = q
    keys = k[2]
    queried, keyed = _blocks(length, keys, conventions)
    return (
        Term(f"{entry.path} (queries)", (*_often(keyed), batch, heads, length, width, size)),
        Term(f"{entry.path} (keys)", (*_often(queried), batch, heads, keys, width, size)),
    )


def softmax_by_block(entry: Entry, p: Shape, size: Expr, conventions: Conventions) -> tuple[Term, ...]:
    """The statistics of each query: the maximum and the sum, or the logarithm of both as one number."""
    if entry.inputs[0].name.rpartition(".")[2] != "scores":
        raise RuleError(f"{entry.path}: what is added to scores is read in blocks too, and how is not stated")
    batch, heads, length, keys = p
    _, keyed = _blocks(length, keys, conventions)
    if conventions["kernels"] == "flash2":
        return (Term(f"{entry.path} (statistic, written)", (batch, heads, length, size)),)
    both = (ONE + ONE, batch, heads, length, size)
    return (
        Term(f"{entry.path} (statistics, read)", (*_often(keyed), *both)),
        Term(f"{entry.path} (statistics, written)", (keyed + 1, *both)),
    )


def mix_by_block(entry: Entry, p: Shape, v: Shape, y: Shape, size: Expr, conventions: Conventions) -> tuple[Term, ...]:
    """Values [B,G,C,D], which all A query heads load, and the output."""
    batch, heads, length, keys = p
    queried, keyed = _blocks(length, keys, conventions)
    values = Term(f"{entry.path} (values)", (*_often(queried), batch, heads, keys, v[-1], size))
    if conventions["kernels"] == "flash2":
        return (values, Term(f"{entry.path} (output)", (*y, size)))
    return (
        values,
        Term(f"{entry.path} (output, read)", (*_often(keyed), *y, size)),
        Term(f"{entry.path} (output, written)", (keyed + 1, *y, size)),
    )


def _blocks(length: Expr, keys: Expr, conventions: Conventions) -> tuple[Expr, Expr]:
    """How often keys are read, and how often queries: once for each block of the others, or once."""
    if conventions["kernels"] == "flash2":
        return times(length, C_q), ONE
    return ONE, times(keys, C_kv)


def _often(number: Expr) -> tuple[Expr, ...]:
    return () if number == 1 else (number,)


def _hold(entry: Entry, conventions: Conventions) -> None:
    """Raise RuleError for what leaves some of the blocks out, or divides them."""
    kernels = f"kernels={conventions['kernels']}"
    if conventions.get("context") == "on":
        raise RuleError(f"{entry.path}: which blocks one of N_cp ranks reads at a time with {kernels} is not stated")
    if conventions.get("attention") == "causal" and entry.mask == "causal":
        raise RuleError(f"{entry.path}: {kernels} reads masked blocks too; count them as well, by attention=full")
