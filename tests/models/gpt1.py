"""GPT-1."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "gpt1",
    totals=(
        # transformers' classes on meta unless stated otherwise
        ("openai-gpt", {}, 116_534_784),
    ),
    config=SmallConfig(
        "openai-gpt",
        {"vocab_size": 29, "n_positions": 13, "n_embd": 12, "n_layer": 2, "n_head": 3},
        ("OpenAIGPTLMHeadModel", "OpenAIGPTModel"),
    ),
    computation=Computation(epsilon=1e-5),
)
