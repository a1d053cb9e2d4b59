"""PaLM, appendix B: 6N + 12LHQT FLOPs a token."""

from __future__ import annotations

from ...ledger.facts import STORING, Kind
from .common import SILENT, attending, full, weights
from .roles import Reading
from .rule_set import RuleSet


def dense(reading: Reading) -> None:
    """Raise RuleError for a mixture."""
    if experts := reading.of(Kind.EXPERTS):
        raise PALM.refuse(
            f"PaLM's N is of a dense model, and which of the experts of {experts[0].path} it would count is not stated"
        )


PALM = RuleSet(
    "palm",
    "PaLM",
    "appendix B",
    "https://arxiv.org/abs/2204.02311",
    "6 FLOPs a token for every parameter, and full attention",
    "One forward and one backward pass over B sequences of S tokens, by the rule of Chowdhery et al. 2022 "
    "[chowdhery2022], in the appendix on model FLOPs utilization: ``6N + 12LHQT`` FLOPs a token. N is all parameters, "
    "biases and norms among them, and those of embeddings as well, which are looked up; a table that the head is tied "
    "to counts once, in the head. In every head every query-key pair adds 12 FLOPs for each element of its width, "
    "masked or not, whatever the window.",
    {**SILENT, **dict.fromkeys(STORING, weights), **attending(full)},
    holds=dense,
    checked="It is held to 6N + 12LHQT with the number of parameters that torch has.",
)
