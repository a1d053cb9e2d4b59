"""Gopher."""

from __future__ import annotations

from . import ModelCase

MODEL = ModelCase(
    "gopher",
    totals=(
        # by hand, 13LE² + VE and, with biases, u, v and norms, 13LE + E: the paper prints 280B
        ("gopher-280b", {}, 13 * 80 * 16_384**2 + 32_000 * 16_384 + (13 * 80 + 1) * 16_384),
        (
            "gopher-417m",
            {"bias": False},
            417_202_176 + (4 * 12 + 1) * 1_536,
        ),  # without them u, v and two norms, 4LE + E
    ),
)
