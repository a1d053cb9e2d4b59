"""Mistral."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "mistral",
    totals=(
        ("mistral-7b-v0.1", {}, 7_241_732_096),  # keras-hub; likewise for the next
        ("mistral-7b-v0.3", {}, 7_248_023_552),
        # 2*131072*5120 + 40*(2*5120*4096 + 2*5120*1024 + 3*5120*14336 + 2*5120) + 5120
        ("mistral-nemo-12b", {}, 12_247_782_400),
    ),
    config=SmallConfig(
        "mistral",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "sliding_window": 4},
        },
        ("MistralForCausalLM", "MistralModel"),
    ),
    computation=Computation(),
)
