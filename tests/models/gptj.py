"""GPT-J."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "gptj",
    totals=(
        # transformers' classes on meta unless stated otherwise
        ("gpt-j-6b", {}, 6_050_882_784),
    ),
    config=SmallConfig(
        "gptj",
        {"vocab_size": 29, "n_embd": 48, "n_layer": 2, "n_head": 3, "n_inner": 7, "rotary_dim": 6},
        ("GPTJForCausalLM", "GPTJModel"),
    ),
    computation=Computation(words={"rotate": "neighbours"}),
)
