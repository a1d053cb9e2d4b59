"""ERNIE 4.5."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "ernie4-5",
    totals=(
        # llmfit; 103424*1024 + 18*(2*1024*2048 + 2*1024*256 + 3*1024*3072 + 2*1024) + 1024
        ("ernie-4.5-0.3b", {}, 360_748_032),
    ),
    config=SmallConfig(
        "ernie4_5",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
        },
        ("Ernie4_5ForCausalLM", "Ernie4_5Model"),
    ),
    computation=Computation(words={"rotate": "neighbours"}),
)
