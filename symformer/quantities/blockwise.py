"""Memory traffic of blockwise attention: the loads and stores of the FlashAttention algorithms.

As in both papers, each query head is processed separately: heads that share keys and values each load them. All
elements have the same size, including the statistics, and every block is counted, masked or not.
"""

from __future__ import annotations

from sympy import Expr, ceiling

from ..formulas.account import Term
from ..language.errors import RuleError
from ..language.symbols import C_kv, C_q
from ..ledger.facts import ONE, Entry
from .quantity import Conventions

BLOCKWISE = {
    "flash": "attention is one kernel, algorithm 1 of Dao et al. 2022 [dao2022]: per query head, the output and two "
    "statistics per query are initialized, and every block of C_kv keys and values is read once; for each block all "
    "queries, the output and the statistics are read, and the output and the statistics are written; masked or not",
    "flash2": "attention is one kernel, algorithm 1 of Dao 2023 [dao2023]: per query head, every block of C_q queries "
    "is read once; for each block all keys and values are read, and the output and one statistic per query are "
    "written; masked or not",
}
Shape = tuple[Expr, ...]


def is_blockwise(conventions: Conventions) -> bool:
    """Return True if attention reads and writes block by block."""
    return conventions["kernels"] in BLOCKWISE


def block_count(length: Expr, size: Expr) -> Expr:
    """Return the number of blocks of a size; one token is one block."""
    return ONE if length == 1 else ceiling(length / size)


def scores_by_block(entry: Entry, q: Shape, k: Shape, size: Expr, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of queries [B,A,S,D] and of keys [B,G,C,D], which all A query heads load."""
    _hold(entry, conventions)
    batch, heads, length, width = q
    keys = k[2]
    queried, keyed = _blocks(length, keys, conventions)
    return (
        Term(f"{entry.path} (queries)", (*_often(keyed), batch, heads, length, width, size)),
        Term(f"{entry.path} (keys)", (*_often(queried), batch, heads, keys, width, size)),
    )


def softmax_by_block(entry: Entry, p: Shape, size: Expr, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the statistics of each query: maximum and sum, or one log-sum-exp."""
    if entry.inputs[0].name.rpartition(".")[2] != "scores":
        raise RuleError(
            f"{entry.path}: blockwise kernels do not support operations on the scores; choose kernels=separate"
        )
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
    """Return the bytes of values [B,G,C,D], which all A query heads load, and of the output."""
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
    """Return how often the keys and the queries are read: one of them once per block of the other."""
    if conventions["kernels"] == "flash2":
        return block_count(length, C_q), ONE
    return ONE, block_count(keys, C_kv)


def _often(number: Expr) -> tuple[Expr, ...]:
    return () if number == 1 else (number,)


def _hold(entry: Entry, conventions: Conventions) -> None:
    """Raise RuleError for conventions that skip or shard blocks."""
    kernels = f"kernels={conventions['kernels']}"
    if conventions.get("context") == "on":
        raise RuleError(f"{entry.path}: {kernels} does not support context=on; choose context=off")
    if conventions.get("attention") == "causal" and entry.mask == "causal":
        raise RuleError(f"{entry.path}: {kernels} also reads masked blocks; choose attention=full to count them")
