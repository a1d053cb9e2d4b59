"""FLUX.1."""

from __future__ import annotations

from . import ModelCase

E = 3072
# Two matrices of (6*E + 6)*E for scales, shifts and gates, eight of attention, four norms of 128 elements, and two
# feed-forward networks of 8*E*E + 5*E.
DOUBLE = 36 * E**2 + 30 * E + 4 * 128
# A matrix of (3*E + 3)*E, three of attention, one to 4*E elements, one from 5*E elements, and two norms.
SINGLE = 15 * E**2 + 11 * E + 2 * 128
# The inputs of 64, 4096 and 768 elements, the second matrix of the pooled text, the timestep, and the output: a matrix
# of (2*E + 2)*E and one to 64 elements.
ENDS = 65 * E + 4097 * E + 769 * E + E**2 + E + 257 * E + E**2 + E + 2 * E**2 + 2 * E + 64 * E + 64
GUIDANCE = 257 * E + E**2 + E

MODEL = ModelCase(
    "flux",
    totals=(
        ("flux-1-schnell", {}, 19 * DOUBLE + 38 * SINGLE + ENDS),
        ("flux-1-dev", {}, 11_901_408_320),  # the sum over the tensors of its checkpoint
        ("flux-1-dev", {}, 19 * DOUBLE + 38 * SINGLE + ENDS + GUIDANCE),
    ),
)
