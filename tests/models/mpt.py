"""MPT."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "mpt",
    totals=(
        # transformers' classes on meta unless stated otherwise
        ("mpt-7b", {}, 6_649_286_656),
        # by hand: 48*(12*7168**2 + 2*7168) + 50432*7168 + 7168
        ("mpt-30b", {}, 29_957_200_896),
    ),
    config=SmallConfig(
        "mpt", {"vocab_size": 29, "d_model": 12, "n_layers": 2, "n_heads": 3}, ("MptForCausalLM", "MptModel")
    ),
    computation=Computation(apart=("ffn",), epsilon=1e-5),
)
