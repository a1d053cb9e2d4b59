"""The block types of GGUF files: how many elements a block has, and how many bytes.

Source: ``ggml/src/ggml-common.h`` and ``src/llama-quant.cpp`` of llama.cpp at commit 007dbbf3.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# type -> (elements of a block, bytes of a block)
BLOCKS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "q4_0": (32, 18),
        "q4_1": (32, 20),
        "q5_0": (32, 22),
        "q5_1": (32, 24),
        "q8_0": (32, 34),
        "q2_k": (256, 84),
        "q3_k": (256, 110),
        "q4_k": (256, 144),
        "q5_k": (256, 176),
        "q6_k": (256, 210),
        "iq1_s": (256, 50),
        "iq1_m": (256, 56),
        "iq2_xxs": (256, 66),
        "iq2_xs": (256, 74),
        "iq2_s": (256, 82),
        "iq3_xxs": (256, 98),
        "iq3_s": (256, 110),
        "iq4_nl": (32, 18),
        "iq4_xs": (256, 136),
        "tq1_0": (256, 54),
        "tq2_0": (256, 66),
        "mxfp4": (32, 17),
        "nvfp4": (64, 36),
        "q1_0": (128, 18),
        "f16": (1, 2),
        "bf16": (1, 2),
        "f32": (1, 4),
    }
)

# The type of a matrix whose width is not a multiple of the block of the type on the left; f16 if that does not fit.
FALLBACKS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq4_xs"), "iq4_nl"),
        **dict.fromkeys(("q2_k", "q3_k", "tq1_0", "tq2_0"), "q4_0"),
        "q4_k": "q5_0",
        "q5_k": "q5_1",
        "q6_k": "q8_0",
    }
)
