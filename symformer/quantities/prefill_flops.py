"""Prefill FLOPs: the prompt, with its keys and values kept for the tokens that follow."""

from __future__ import annotations

from dataclasses import dataclass

from ..formulas.account import Measure
from .contractions import ATTENTION, COUNT, EMBEDDING, LOGITS, rules
from .counted import PROMPT
from .counted.rule_set import CountedAs
from .generation import FromPrompt, prompt


@dataclass(frozen=True)
class PrefillFlops(CountedAs, FromPrompt):
    """A prompt, by rules of our own or of others."""


QUANTITY = PrefillFlops(
    Measure("prefill-flops", "prefill FLOPs", "F_prefill", "FLOPs"),
    "One forward pass over a prompt of S tokens in each of B sequences, with an empty cache, 2 FLOPs a multiply-add.",
    rules(prompt),
    ("operation", "multiplied out"),
    {"attention": ATTENTION, "logits": LOGITS, "embedding": EMBEDDING, "count": COUNT},
    encoder="The prompt is the decoder's; the encoder's run over what it reads is counted with it.",
    rule_sets=PROMPT,
)
