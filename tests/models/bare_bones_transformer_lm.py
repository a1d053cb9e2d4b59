"""Bare-bones transformer language model."""

from __future__ import annotations

from . import ModelCase

MODEL = ModelCase(
    "bare-bones-transformer-lm",
    totals=(
        ("bare-bones-transformer-lm", {}, 1_851),  # 256*5 + 50*5 + (4*25 + 20) + 2*10 + 181
    ),
)
