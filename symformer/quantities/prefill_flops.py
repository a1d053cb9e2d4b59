"""Prefill FLOPs: the prompt, with its keys and values kept for the tokens that follow."""

from __future__ import annotations

from ..formulas.account import Measure
from .contractions import ATTENTION, COUNT, EMBEDDING, LOGITS, rules
from .generation import FromPrompt, prompt

QUANTITY = FromPrompt(
    Measure("prefill-flops", "prefill FLOPs", "F_prefill", "FLOPs"),
    "One forward pass over a prompt of S tokens in each of B sequences, with an empty cache, 2 FLOPs a multiply-add.",
    rules(prompt),
    ("operation", "multiplied out"),
    {"attention": ATTENTION, "logits": LOGITS, "embedding": EMBEDDING, "count": COUNT},
    encoder="The prompt is the decoder's; the encoder's run over what it reads is counted with it.",
)
