"""PaLM, appendix B: 6N + 12LHQT FLOPs per token."""

from __future__ import annotations

from ...ledger.facts import STORING, OperationKind
from .common_rules import SILENT, all_pairs, attention_rules, weights
from .linear_roles import RoleTable
from .rule_set import RuleSet


def refuse_experts(reading: RoleTable) -> None:
    """Raise RuleError for a mixture of experts."""
    if experts := reading.of(OperationKind.EXPERTS):
        raise PALM.refuse(
            f"PaLM's rule is for dense models; it does not define which experts of {experts[0].path} count"
        )


PALM = RuleSet(
    "palm",
    "PaLM",
    "appendix B",
    "https://arxiv.org/abs/2204.02311",
    "6 FLOPs per token for every parameter, and full attention",
    "The FLOPs of one forward and one backward pass over B sequences of S tokens, by the rule of Chowdhery et al. 2022 "
    "[chowdhery2022], appendix on model FLOPs utilization: ``6N + 12LHQT`` FLOPs per token. ``N`` counts all "
    "parameters, including biases, norms and embeddings; an embedding tied to the LM head counts once. In every head, "
    "every query-key pair adds 12 FLOPs per element of the head dimension, masked or not, regardless of the window.",
    {**SILENT, **dict.fromkeys(STORING, weights), **attention_rules(all_pairs)},
    holds=refuse_experts,
    checked_by="The tests compare it with 6N + 12LHQT, with N counted by torch.",
)
