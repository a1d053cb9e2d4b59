"""Stable Diffusion 3."""

from __future__ import annotations

from . import ModelCase


def total(width: int, depth: int, norms: int, dual: int) -> int:
    """By hand.

    A block has two matrices of (6*E + 6)*E for scales, shifts and gates, eight of attention, and two feed-forward
    networks of 8*E*E + 5*E. The last block has 4*E*E + 4*E fewer for scales, shifts and gates, no output matrix of the
    text (E*E + E) and no feed-forward network of the text. Then patches of 64 numbers, texts of 4096 and 2048, the
    second matrix of the pooled text, the timestep (257*E + E*E + E), and at the end 2*E*E + 2*E and a matrix to 64.
    """
    block = 36 * width**2 + 30 * width + 4 * norms
    second = 3 * width**2 + 3 * width + 4 * width**2 + 4 * width + 2 * norms  # scale, shift, gate, and an attention
    less = 4 * width**2 + 4 * width + width**2 + width + 8 * width**2 + 5 * width
    ends = (65 + 4097 + 2049) * width + width**2 + width + 257 * width + width**2 + width
    ends += 2 * width**2 + 2 * width + 64 * width + 64
    return depth * block + dual * second - less + ends


# The totals of the presets of Keras Hub also have CLIP's text encoders L and G, the decoder and encoder of images, and
# the table of fixed positions.
OTHERS = 123_650_304 + 694_659_840 + 83_819_683

MODEL = ModelCase(
    "sd3",
    totals=(
        ("sd3-medium", {}, 2_987_080_931 - OTHERS - 192**2 * 1536),
        ("sd3.5-medium", {}, 3_371_793_763 - OTHERS - 384**2 * 1536),
        ("sd3.5-large", {}, 9_048_410_595 - OTHERS - 192**2 * 2432),
        ("sd3-medium", {}, total(1536, 24, 0, 0)),
        ("sd3.5-medium", {}, total(1536, 24, 64, 13)),
        ("sd3.5-large", {}, total(2432, 38, 64, 0)),
    ),
)
