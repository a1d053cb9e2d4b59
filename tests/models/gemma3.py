"""Gemma 3."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

ROPES = {
    "full_attention": {"rope_type": "default", "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
}

MODEL = ModelCase(
    "gemma3",
    totals=(
        ("gemma-3-1b", {}, 999_885_952),  # keras-hub
        ("gemma-3-27b-text", {}, 27_009_002_240 + 64 * 5_376),  # keras-hub's, which drops the last 64 rows of the table
    ),
    config=SmallConfig(
        "gemma3_text",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 7, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 10, "sliding_window": 4},
        },
        ("Gemma3ForCausalLM", "Gemma3TextModel"),
    ),
    computation=Computation(
        {"query_pre_attn_scalar": 13, "rope_parameters": ROPES},
        factors={"self_attn": (13**-0.5,)},
        apart=("embed_tokens",),  # torch takes the root inside
    ),
)
