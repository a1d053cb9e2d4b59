"""ALBERT."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "albert",
    totals=(
        ("albert-base", {}, 11_683_584),  # keras-hub; likewise for the next three
        ("albert-large", {}, 17_683_968),
        ("albert-xlarge", {}, 58_724_864),
        ("albert-xxlarge", {}, 222_595_584),
    ),
    config=SmallConfig(
        "albert",
        {
            **{"vocab_size": 29, "max_position_embeddings": 13, "embedding_size": 10, "hidden_size": 12},
            **{"num_hidden_layers": 4, "num_hidden_groups": 2, "num_attention_heads": 3, "intermediate_size": 7},
            **{"type_vocab_size": 6},
        },
        ("AlbertForMaskedLM", "AlbertModel"),
        inputs="encoder tokens",
    ),
    computation=Computation(apart=("attention",)),  # torch takes the norm inside
)
