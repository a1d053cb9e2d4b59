"""GPT-Neo."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "gpt-neo",
    totals=(
        # transformers' classes on meta unless stated otherwise
        ("gpt-neo-125m", {}, 125_198_592),
        ("gpt-neo-1.3b", {}, 1_315_575_808),
        ("gpt-neo-2.7b", {}, 2_651_307_520),
    ),
    # 24 layers, as in the default attention_types
    config=SmallConfig(
        "gpt_neo",
        {
            **{"vocab_size": 29, "max_position_embeddings": 13, "hidden_size": 15, "num_layers": 24, "num_heads": 3},
            **{"intermediate_size": 7, "window_size": 4},
        },
        ("GPTNeoForCausalLM", "GPTNeoModel"),
    ),
    computation=Computation(),
)
