"""OLMo."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "olmo",
    totals=(
        # OlmoForCausalLM on meta; likewise for the next
        ("olmo-1b", {}, 1_176_764_416),
        ("olmo-7b", {}, 6_888_095_744),
    ),
    config=SmallConfig(
        "olmo",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "pad_token_id": 1},
            "eos_token_id": 3,
        },
        ("OlmoForCausalLM", "OlmoModel"),
    ),
    computation=Computation(),
)
