"""Qwen3-MoE."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "qwen3-moe",
    totals=(
        ("qwen3-30b-a3b", {}, 30_532_122_624),  # keras-hub; likewise for the next
        ("qwen3-235b-a22b", {}, 235_093_634_560),
    ),
    config=SmallConfig(
        "qwen3_moe",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "moe_intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
            **{"num_experts": 11, "num_experts_per_tok": 4},
        },
        ("Qwen3MoeForCausalLM", "Qwen3MoeModel"),
    ),
    computation=Computation(),
)
