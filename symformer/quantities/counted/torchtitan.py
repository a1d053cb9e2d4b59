"""torchtitan: 6 FLOPs a token for each parameter that is active and no embedding, and full attention."""

from __future__ import annotations

from ...formulas.account import Term
from ...language.symbols import B, S
from ...ledger.facts import STORING, Entry, Kind
from .common import SILENT, SIX, attending, full, weights
from .roles import Reading
from .rule_set import RuleSet


def table(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """Nothing of embeddings, unless the head is tied: then nothing is subtracted, and learned positions count too."""
    return weights(entry, reading) if reading.tables else ()


def chosen(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """K of X experts, their biases too: of all their parameters K/X, rounded down, and X divides them."""
    some = entry.output.shape[-2]
    return tuple(Term(weight.path, (SIX, B, S, some, *weight.shape[1:])) for weight in entry.weights)


TORCHTITAN = RuleSet(
    "torchtitan",
    "torchtitan",
    "torchtitan/models/utils.py, get_dense_model_nparams_and_flops and get_moe_model_nparams_and_flops",
    "https://github.com/pytorch/torchtitan/blob/b5bcd76c66d0acb1a08b176d9639425bc55e0b2a/torchtitan/models/utils.py",
    "6 FLOPs a token for every parameter that a token goes through, embeddings left out, and full attention",
    "One forward and one backward pass over B sequences of S tokens, by torchtitan's rule "
    "(torchtitan/models/utils.py): 6 FLOPs a token for every parameter, biases and norms among them, of experts for "
    "those that a token goes to, and for the whole router. The embeddings are left out; but where the head is tied to "
    "a table of them nothing is subtracted, so that this table counts once, in the head, and learned positions count "
    "as well. In every head every query-key pair adds 6 FLOPs for each element of a key and of a value, masked or not, "
    "whatever the window. What is recomputed is not counted.",
    {**SILENT, **dict.fromkeys(STORING, weights), Kind.LOOKUP: table, Kind.EXPERTS: chosen, **attending(full)},
)
