"""Decode FLOPs: one new token in each sequence, after C tokens in the cache."""

from __future__ import annotations

from ..formulas.account import Measure
from ..language.symbols import B, C
from .cache_rules import CHOSEN, chooses, one_token
from .contractions import COUNT, EMBEDDING, rules
from .quantity import Quantity

QUANTITY = Quantity(
    Measure("decode-flops", "decode FLOPs", "F_decode", "FLOPs"),
    "The FLOPs of one decoding step, at 2 FLOPs per multiply-add: one new token in each of B sequences, with C tokens "
    "in the cache. The new token attends to the cached tokens, within any sliding window, and to itself.",
    rules(one_token),
    ("operation", "factors"),
    {"embedding": EMBEDDING, "count": COUNT},
    run_sizes=(B, C),
    notes={chooses: CHOSEN},
    latent="Latent attention recomputes the keys and values of all cached tokens from their latents, as transformers "
    "does.",
    recurrent="The FLOPs of one decoding step, at 2 FLOPs per multiply-add: one new token in each of B sequences, from "
    "the recurrent states of the preceding tokens.",
    encoder="The encoder's pass is excluded: its keys and values are already in the cache.",
)
