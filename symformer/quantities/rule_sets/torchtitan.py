"""torchtitan: 6 FLOPs per token for every active parameter except embeddings, and full attention."""

from __future__ import annotations

from ...formulas.account import Term
from ...language.symbols import B, S
from ...ledger.facts import STORING, Entry, OperationKind
from .common_rules import SILENT, SIX, all_pairs, attention_rules, weights
from .linear_roles import RoleTable
from .rule_set import RuleSet


def table(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return nothing for embeddings unless the LM head is tied: then none are subtracted, not even positions."""
    return weights(entry, reading) if reading.tables else ()


def chosen(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return the terms of K of X experts with biases: torchtitan's floor of K/X of their parameters is exact."""
    some = entry.output.shape[-2]
    return tuple(Term(weight.path, (SIX, B, S, some, *weight.shape[1:])) for weight in entry.weights)


TORCHTITAN = RuleSet(
    "torchtitan",
    "torchtitan",
    "torchtitan/models/utils.py, get_dense_model_nparams_and_flops and get_moe_model_nparams_and_flops",
    "https://github.com/pytorch/torchtitan/blob/b5bcd76c66d0acb1a08b176d9639425bc55e0b2a/torchtitan/models/utils.py",
    "6 FLOPs per token for every active parameter except embeddings, and full attention",
    "The FLOPs of one forward and one backward pass over B sequences of S tokens, by torchtitan's rule "
    "(torchtitan/models/utils.py): 6 FLOPs per token for every parameter, including biases, norms, the whole router "
    "and the experts that a token is routed to. Embeddings are excluded, unless one is tied to the LM head: then "
    "nothing is subtracted, so the tied embedding counts once, in the LM head, and position embeddings count too. In "
    "every head, every query-key pair adds 6 FLOPs per element of a key and of a value, masked or not, regardless of "
    "the window. Recomputation is excluded.",
    {
        **SILENT,
        **dict.fromkeys(STORING, weights),
        OperationKind.LOOKUP: table,
        OperationKind.EXPERTS: chosen,
        **attention_rules(all_pairs),
    },
)
