"""Feed-forward language model."""

from __future__ import annotations

from . import ModelCase

MODEL = ModelCase(
    "feed-forward-lm",
    totals=(
        ("feed-forward-lm", {}, 1_461),  # 256*5 + (5*16 + 16 + 16*5 + 5)
    ),
)
