"""BERT."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "bert",
    totals=(
        ("bert-base-uncased", {}, 109_482_240),  # keras-hub, without heads; likewise for the next three
        ("bert-large-uncased", {}, 335_141_888),
        ("bert-base-cased", {}, 108_310_272),
        ("bert-large-cased", {}, 333_579_264),
        ("bert-base-uncased", {"head": "mlm"}, 109_514_298),  # BertForMaskedLM
        ("bert-base-uncased", {"head": "pretraining"}, 110_106_428),  # BertForPreTraining
        ("bert-large-uncased", {"head": "pretraining"}, 336_226_108),
    ),
    config=SmallConfig(
        "bert",
        {
            **{"vocab_size": 29, "max_position_embeddings": 13, "hidden_size": 12, "num_hidden_layers": 2},
            **{"num_attention_heads": 3, "intermediate_size": 7, "type_vocab_size": 4},
        },
        ("BertForMaskedLM", "BertModel", "BertForPreTraining"),
        inputs="encoder tokens",
    ),
    computation=Computation(apart=("attention",)),  # torch takes the norm inside
)
