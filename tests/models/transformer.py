"""Transformer."""

from __future__ import annotations

from . import ModelCase

MODEL = ModelCase(
    "transformer",
    totals=(
        ("transformer", {}, 44_140_544),  # torch.nn; likewise for the next three
        ("transformer-big", {}, 176_361_472),
        ("transformer", {"bias": False}, 44_056_576),
        ("vaswani-base", {}, 44_140_544 + 37_000 * 512),
    ),
)
