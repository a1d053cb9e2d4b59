"""Transformer encoder layer."""

from __future__ import annotations

from . import ModelCase

MODEL = ModelCase(
    "transformer-encoder-layer",
    totals=(
        ("transformer-encoder-layer", {}, 3_152_384),  # torch.nn; likewise for the next
        ("transformer-encoder-layer", {"bias": False}, 3_146_752),
    ),
)
