"""Prefill FLOPs: one forward pass over the prompt, which fills the KV cache."""

from __future__ import annotations

from dataclasses import dataclass

from ..formulas.account import Measure
from .cache_rules import FromPrompt, prompt
from .contractions import ATTENTION, COUNT, EMBEDDING, LOGITS, RECURRENT_RULE, rules
from .rule_sets import PROMPT
from .rule_sets.rule_set import RuleSetQuantity


@dataclass(frozen=True)
class PrefillFlops(RuleSetQuantity, FromPrompt):
    """Prefill FLOPs, by symformer's rules or by a published rule set."""


QUANTITY = PrefillFlops(
    Measure("prefill-flops", "prefill FLOPs", "F_prefill", "FLOPs"),
    "The FLOPs of one forward pass over a prompt of S tokens in each of B sequences, with an empty cache, at 2 FLOPs "
    "per multiply-add.",
    rules(prompt),
    ("operation", "factors"),
    {"attention": ATTENTION, "logits": LOGITS, "embedding": EMBEDDING, "count": COUNT},
    notes=RECURRENT_RULE,
    encoder="The prompt is the decoder's; the encoder's pass over its own input is included.",
    rule_sets=PROMPT,
)
