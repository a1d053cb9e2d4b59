"""PaLM."""

from __future__ import annotations

from . import ModelCase

MODEL = ModelCase(
    "palm",
    totals=(
        ("palm-8b", {}, 8_631_877_632),  # the paper prints 8.63B
        ("palm-62b", {}, 62_495_129_600),  # 62.50B
        ("palm-540b", {}, 540_354_281_472),  # 540.35B: without norm scales
        ("palm-540b", {"norm_scales": True}, 540_354_281_472 + (118 + 1) * 18_432),
    ),
)
