"""Phi-3."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "phi3",
    totals=(
        # transformers' classes on meta unless stated otherwise
        ("phi-3-mini-4k", {}, 3_821_079_552),  # keras-hub
        ("phi-4", {}, 14_659_507_200),
    ),
    config=SmallConfig(
        "phi3",
        {
            **{"vocab_size": 29, "hidden_size": 60, "num_hidden_layers": 2, "intermediate_size": 7, "pad_token_id": 0},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "sliding_window": 4, "partial_rotary_factor": 0.6},
        },
        ("Phi3ForCausalLM", "Phi3Model"),
    ),
    computation=Computation(),
)
