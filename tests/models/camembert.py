"""CamemBERT."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "camembert",
    totals=(
        ("camembert-l2", {}, 39_743_232),  # llmfit; likewise for the next two
        ("camembert-l10", {}, 96_446_208),
        ("splade-camembert-base-v2", {}, 110_655_493),
        # 10 layers of 4*768² + 2*768*3072 + 9*768 + 3072 more than the first
        ("camembert-base", {}, 39_743_232 + 10 * (4 * 768**2 + 2 * 768 * 3_072 + 9 * 768 + 3_072)),
    ),
    config=SmallConfig(
        "camembert",
        {
            **{"vocab_size": 29, "max_position_embeddings": 13, "type_vocab_size": 4, "hidden_size": 12},
            **{"num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 7},
        },
        ("CamembertForMaskedLM", "CamembertModel"),
        inputs="encoder tokens",
    ),
    computation=Computation(apart=("attention",)),  # torch takes the norm inside
)
