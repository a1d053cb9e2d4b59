"""Seed-OSS."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "seed-oss",
    totals=(
        # llmfit. 2*155136*5120 + 64*(2*5120*10240 + 2*5120*1024 + 3*5120*27648 + 10240 + 2*1024 + 2*5120) + 5120
        ("seed-oss-36b", {}, 36_151_104_512),
    ),
    config=SmallConfig(
        "seed_oss",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
        },
        ("SeedOssForCausalLM", "SeedOssModel"),
    ),
    computation=Computation(),
)
