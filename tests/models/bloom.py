"""BLOOM."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "bloom",
    totals=(
        # transformers' classes on meta unless stated otherwise
        ("bloom-560m", {}, 559_214_592),  # keras-hub
        ("bloom-7b1", {}, 7_069_016_064),
        ("bloom-176b", {}, 176_247_271_424),  # BF16 in the released files, according to the tests of huggingface.js
    ),
    config=SmallConfig(
        "bloom", {"vocab_size": 29, "hidden_size": 12, "n_layer": 2, "n_head": 3}, ("BloomForCausalLM", "BloomModel")
    ),
    computation=Computation(by_head=True, apart=("self_attention", "mlp")),  # they add their inputs
)
