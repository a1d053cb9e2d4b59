"""Phi."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "phi",
    totals=(
        # transformers' classes on meta unless stated otherwise
        ("phi-1.5", {}, 1_418_270_720),
        ("phi-2", {}, 2_779_683_840),
    ),
    config=SmallConfig(
        "phi",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 20},
        },
        ("PhiForCausalLM", "PhiModel"),
    ),
    computation=Computation(),
)
