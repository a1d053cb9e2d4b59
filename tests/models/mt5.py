"""mT5."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "mt5",
    totals=(
        ("mt5-small", {}, 300_176_768),  # the class on meta, with a head of its own; likewise for all
        ("mt5-base", {}, 582_401_280),
        ("mt5-large", {}, 1_229_581_312),
        ("mt5-xl", {}, 3_742_619_648),
        ("mt5-xxl", {}, 12_921_057_280),
    ),
    config=SmallConfig(
        "mt5",
        {
            **{"vocab_size": 29, "d_model": 24, "d_ff": 7, "d_kv": 4, "num_heads": 3, "num_layers": 1},
            **{"num_decoder_layers": 2, "relative_attention_num_buckets": 14},
        },
        ("MT5ForConditionalGeneration", "MT5Model"),
        inputs="source and target",
    ),
    computation=Computation(),
)
