"""Gemma."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "gemma",
    totals=(
        ("gemma-2b", {}, 2_506_172_416),  # keras-hub; likewise for the next
        ("gemma-7b", {}, 8_537_680_896),
    ),
    config=SmallConfig(
        "gemma",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
        },
        ("GemmaForCausalLM", "GemmaModel"),
    ),
    computation=Computation(apart=("embed_tokens",)),  # torch takes the root inside
)
