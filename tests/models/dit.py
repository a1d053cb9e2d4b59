"""DiT."""

from __future__ import annotations

from . import ModelCase

MODEL = ModelCase(
    "dit",
    totals=(
        # by hand: the patches 17*1152, 256*1152 of sines, a timestep 257*1152 + 1153*1152, 1001*1152 of classes; a
        # block 18*1152² + 15*1152; at the end 2*1152² + 2*1152 and 32*1153
        (
            "dit-xl-2",
            {},
            28 * (18 * 1152**2 + 15 * 1152) + (17 + 256 + 257 + 1153 + 1001 + 2 * 1153) * 1152 + 32 * 1153,
        ),
    ),
)
