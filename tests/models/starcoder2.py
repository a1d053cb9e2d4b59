"""StarCoder 2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "starcoder2",
    totals=(
        # transformers' classes on meta unless stated otherwise
        ("starcoder2-3b", {}, 3_030_371_328),
        ("starcoder2-7b", {}, 7_173_923_840),
    ),
    config=SmallConfig(
        "starcoder2",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "sliding_window": 4},
        },
        ("Starcoder2ForCausalLM", "Starcoder2Model"),
    ),
    computation=Computation(),
)
