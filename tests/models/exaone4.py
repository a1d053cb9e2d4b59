"""EXAONE 4."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "exaone4",
    totals=(
        # llmfit. 2*102400*5120 + 64*(2*5120² + 2*5120*1024 + 3*5120*27392 + 2*5120 + 2*128) + 5120
        ("exaone-4.0-32b", {}, 32_003_216_384),
    ),
    config=SmallConfig(
        "exaone4",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 5, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "sliding_window": 4},
        },
        ("Exaone4ForCausalLM", "Exaone4Model"),
    ),
    computation=Computation(),
)
