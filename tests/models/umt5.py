"""UMT5."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "umt5",
    totals=(
        ("umt5-small", {}, 306_601_984),  # from the checkpoint's file
        # mT5's, plus 11 more tables of 32 distances and 12 heads in each tower, and 2*6,272 more rows of 768
        ("umt5-base", {}, 582_401_280 + 2 * 11 * 32 * 12 + 2 * 6_272 * 768),
        # the same with 23 tables for 32 heads and rows of 2,048, and with 64 heads and rows of 4,096
        ("umt5-xl", {}, 3_742_619_648 + 2 * 23 * 32 * 32 + 2 * 6_272 * 2_048),
        ("umt5-xxl", {}, 12_921_057_280 + 2 * 23 * 32 * 64 + 2 * 6_272 * 4_096),
    ),
    config=SmallConfig(
        "umt5",
        {
            **{"vocab_size": 29, "d_model": 24, "d_ff": 7, "d_kv": 4, "num_heads": 3, "num_layers": 1},
            **{"num_decoder_layers": 2, "relative_attention_num_buckets": 14},
        },
        ("UMT5ForConditionalGeneration", "UMT5Model"),
        inputs="source and target",
    ),
    computation=Computation(),
)
