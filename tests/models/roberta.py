"""RoBERTa."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "roberta",
    totals=(
        # keras-hub's, plus a row of types, two unused positions and a pooler; likewise for roberta-large
        ("roberta-base", {}, 124_052_736 + 3 * 768 + 768 * 768 + 768),
        # F32 in the released file, according to the tests of huggingface.js
        ("roberta-base", {"head": "mlm"}, 124_697_433),
        ("roberta-large", {}, 354_307_072 + 3 * 1_024 + 1_024 * 1_024 + 1_024),
    ),
    config=SmallConfig(
        "roberta",
        {
            **{"vocab_size": 29, "max_position_embeddings": 13, "hidden_size": 12, "num_hidden_layers": 2},
            **{"num_attention_heads": 3, "intermediate_size": 7, "type_vocab_size": 4},
        },
        ("RobertaForMaskedLM", "RobertaModel"),
        inputs="encoder tokens",
    ),
    computation=Computation(apart=("attention",)),  # torch takes the norm inside
)
