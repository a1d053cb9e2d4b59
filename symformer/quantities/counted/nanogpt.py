"""nanoGPT's estimate_mfu: 6N + 12LHQT FLOPs a token, N without the learned positions."""

from __future__ import annotations

from sympy import Symbol, cancel

from ...formulas.account import Term
from ...language.errors import RuleError
from ...language.sizes import Condition, Equals
from ...ledger.facts import STORING, Entry, Kind
from .common import SILENT, attending, full, weights
from .roles import Reading
from .rule_set import RuleSet


def dense(reading: Reading) -> None:
    """Raise RuleError for a mixture."""
    if experts := reading.of(Kind.EXPERTS):
        raise NANOGPT.refuse(f"nanoGPT's GPT has one MLP in each layer, and {experts[0].path} is of a mixture")


def tables(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """A table of tokens as it is stored; of positions nothing. Raises RuleError for any other."""
    if entry.function == "positions":
        return ()
    if entry.function != "tokens":
        raise RuleError(f"{entry.path}: nanoGPT has tables of tokens and of positions, and none of {entry.function}")
    return weights(entry, reading)


def shared_out(reading: Reading) -> tuple[Condition, ...]:
    """H·Q is the width of the model in nanoGPT. Raises RuleError where it cannot be."""
    found: dict[Condition, None] = {}
    width = next(entry.output.width for entry in reading.of(Kind.LOOKUP) if entry.function == "tokens")
    for entry in reading.of(Kind.SCORES):
        heads = entry.inputs[0].shape[1] * entry.inputs[0].width
        if cancel(heads - width) == 0:
            continue
        if not isinstance(width, Symbol):
            raise NANOGPT.refuse(f"the heads of {entry.path} have {heads} in all, and nanoGPT's share out {width}")
        found[Equals(width, heads, "in nanoGPT, whose rule was asked for, the heads share out the width")] = None
    return tuple(found)


NANOGPT = RuleSet(
    "nanogpt",
    "nanoGPT",
    "model.py, GPT.estimate_mfu",
    "https://github.com/karpathy/nanoGPT/blob/3adf61e154c3fe3fca428ad6bc3818b27a3b8291/model.py#L289",
    "6 FLOPs a token for every parameter but those of learned positions, and full attention",
    "One forward and one backward pass over B sequences of S tokens, by nanoGPT's rule (model.py, estimate_mfu): "
    "``6N + 12LHQT`` FLOPs a token, after Chowdhery et al. 2022 [chowdhery2022]. N is all parameters, biases and norms "
    "among them, but those of learned positions; a table that the head is tied to counts once, in the head, and one "
    "that it is not tied to counts too. In every head every query-key pair adds 12 FLOPs for each element of its "
    "width, masked or not, whatever the window. ``T`` is the block size, here S, and ``H`` heads share out the width "
    "of the model.",
    {**SILENT, **dict.fromkeys(STORING, weights), Kind.LOOKUP: tables, **attending(full)},
    holds=dense,
    needs=shared_out,
)
