"""Apertus."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "apertus",
    totals=(
        # llmfit. 2*131072*4096 + 32*(2*4096² + 2*4096*1024 + 2*4096*21504 + 2*4096 + 2*128 + 2) + 4096
        ("apertus-8b", {}, 8_053_338_176),
        # llmfit. 2*131072*8192 + 80*(2*8192² + 2*8192*1024 + 2*8192*43008 + 2*8192 + 2*128 + 2) + 8192
        ("apertus-70b", {}, 70_599_864_480),
    ),
    config=SmallConfig(
        "apertus",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
        },
        ("ApertusForCausalLM", "ApertusModel"),
    ),
    computation=Computation({"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}),
)
