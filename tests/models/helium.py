"""Helium."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "helium",
    totals=(
        # llmfit; 2*48000*2560 + 24*(4*2560² + 3*2560*7040 + 2*2560) + 2560
        ("helium-1-preview-2b", {}, 2_172_643_840),
    ),
    config=SmallConfig(
        "helium",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 4, "pad_token_id": 3},
        },
        ("HeliumForCausalLM", "HeliumModel"),
    ),
    computation=Computation(words={"rotate": "neighbours"}),
)
