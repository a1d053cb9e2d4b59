"""Qwen3."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "qwen3",
    totals=(
        ("qwen3-0.6b", {}, 596_049_920),  # keras-hub; likewise for the next four
        ("qwen3-4b", {}, 4_022_468_096),
        ("qwen3-8b", {}, 8_190_735_360),
        ("qwen3-14b", {}, 14_768_307_200),
        ("qwen3-32b", {}, 32_762_123_264),
    ),
    config=SmallConfig(
        "qwen3",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
        },
        ("Qwen3ForCausalLM", "Qwen3Model"),
    ),
    computation=Computation(),
)
