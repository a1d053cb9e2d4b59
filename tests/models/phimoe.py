"""Phi-3.5-MoE."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "phimoe",
    totals=(
        # on meta; by hand 2*32064*4096 + 32064 + 2*4096 + 32*(2*4096*4096 + 2*4096*1024 + 2*4096 + 2*1024 + 4*4096
        # + 16*3*4096*6400 + 16*4096); the paper prints 16x3.8B and Microsoft 41.9B
        ("phi-3.5-moe", {}, 41_873_153_344),
    ),
    config=SmallConfig(
        "phimoe",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "num_local_experts": 11},
        },
        ("PhimoeForCausalLM", "PhimoeModel"),
    ),
    computation=Computation(route="sparse_mixer"),
)
