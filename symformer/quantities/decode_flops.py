"""Decode FLOPs: one new token in each sequence, after C tokens in the cache."""

from __future__ import annotations

from ..formulas.account import Measure
from ..language.symbols import B, C
from .contractions import COUNT, EMBEDDING, rules
from .generation import one_token
from .quantity import Quantity

QUANTITY = Quantity(
    Measure("decode-flops", "decode FLOPs", "F_decode", "FLOPs"),
    "One new token in each of B sequences, with C tokens in the cache; the new token attends to them, as far "
    "back as a window lets it, and to itself. "
    "2 FLOPs a multiply-add.",
    rules(one_token),
    ("operation", "multiplied out"),
    {"embedding": EMBEDDING, "count": COUNT},
    of=(B, C),
    latent="Latent attention makes keys and values of all of them from the latents again, as transformers does.",
    carried="One new token in each of B sequences, from the states that the tokens before it left. "
    "2 FLOPs a multiply-add.",
    encoder="The encoder has run, and the keys and values of what it read are kept.",
)
