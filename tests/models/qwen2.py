"""Qwen2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "qwen2",
    totals=(
        ("qwen2-0.5b", {}, 494_032_768),  # keras-hub, for Qwen2.5 with the same sizes; likewise for the next three
        ("qwen2-1.5b", {}, 1_543_714_304),
        ("qwen2-7b", {}, 7_615_616_512),
        ("qwen2-72b", {}, 72_706_203_648),
    ),
    config=SmallConfig(
        "qwen2",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
        },
        ("Qwen2ForCausalLM", "Qwen2Model"),
    ),
    computation=Computation(),
)
