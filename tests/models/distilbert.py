"""DistilBERT."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "distilbert",
    totals=(
        ("distilbert-base-uncased", {}, 66_362_880),  # keras-hub
        ("distilbert-base-cased", {}, 65_190_912),  # keras-hub
        ("distilbert-base-uncased", {"head": "mlm"}, 66_985_530),  # DistilBertForMaskedLM on meta
    ),
    config=SmallConfig(
        "distilbert",
        {"vocab_size": 29, "max_position_embeddings": 13, "dim": 12, "n_layers": 2, "n_heads": 3, "hidden_dim": 7},
        ("DistilBertForMaskedLM", "DistilBertModel"),
        inputs="encoder tokens",
    ),
    computation=Computation(epsilon=1e-12),
)
