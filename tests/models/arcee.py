"""Arcee."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "arcee",
    totals=(
        # llmfit; 2*128004*2560 + 36*(2*2560² + 2*2560*512 + 2*2560*18432 + 2*2560) + 2560
        ("afm-4.5b", {}, 4_619_184_640),
    ),
    config=SmallConfig(
        "arcee",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
        },
        ("ArceeForCausalLM", "ArceeModel"),
    ),
    computation=Computation(),
)
