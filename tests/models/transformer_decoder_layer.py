"""Transformer decoder layer."""

from __future__ import annotations

from . import ModelCase

MODEL = ModelCase(
    "transformer-decoder-layer",
    totals=(
        ("transformer-decoder-layer", {}, 4_204_032),  # torch.nn
    ),
)
