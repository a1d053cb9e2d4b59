"""XLM-R."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "xlm-roberta",
    totals=(
        # keras-hub's, plus a row of types, two unused positions and a pooler; likewise for the next two
        ("xlm-roberta-base", {}, 277_450_752 + 3 * 768 + 768 * 768 + 768),
        ("xlm-roberta-large", {}, 558_837_760 + 3 * 1_024 + 1_024 * 1_024 + 1_024),
        ("bge-m3", {}, 566_702_080 + 3 * 1_024 + 1_024 * 1_024 + 1_024),
    ),
    config=SmallConfig(
        "xlm-roberta",
        {
            **{"vocab_size": 29, "max_position_embeddings": 13, "hidden_size": 12, "num_hidden_layers": 2},
            **{"num_attention_heads": 3, "intermediate_size": 7, "type_vocab_size": 4},
        },
        ("XLMRobertaForMaskedLM", "XLMRobertaModel"),
        inputs="encoder tokens",
    ),
    computation=Computation(apart=("attention",)),  # torch takes the norm inside
)
