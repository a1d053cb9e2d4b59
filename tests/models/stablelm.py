"""StableLM."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "stablelm",
    totals=(
        ("stablelm-3b-4e1t", {}, 2_795_443_200),  # its model card
        # StableLmForCausalLM on meta; the model card prints 1,644,417,024, without 24*2*2048
        ("stablelm-2-1.6b", {}, 1_644_515_328),
    ),
    config=SmallConfig(
        "stablelm",
        {
            **{"vocab_size": 29, "hidden_size": 96, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3},
        },
        ("StableLmForCausalLM", "StableLmModel"),
    ),
    computation=Computation(),
    options={
        "side by side": Computation({"use_parallel_residual": True}),
    },
)
