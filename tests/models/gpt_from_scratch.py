"""GPT from scratch."""

from __future__ import annotations

from . import ModelCase

MODEL = ModelCase(
    "gpt-from-scratch",
    totals=(
        ("gpt-from-scratch", {}, 163_009_536),  # Raschka 2024, section 4.6; likewise for the next
        ("gpt-from-scratch", {"tied": True}, 124_412_160),
        ("gpt-from-scratch", {"qkv_bias": True}, 163_009_536 + 12 * 3 * 768),
    ),
)
