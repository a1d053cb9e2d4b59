"""ModernBERT."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "modernbert",
    totals=(
        ("modernbert-base", {}, 149_014_272),  # ModernBertModel on meta; ModernBertForMaskedLM
        ("modernbert-base", {"head": "mlm"}, 149_655_232),
        # by hand: 50368*1024 + 28*(4*1024*1024 + 3*1024*2624 + 2*1024) + 1024; the paper says 395M
        ("modernbert-large", {}, 394_781_696),
    ),
    config=SmallConfig(
        "modernbert",
        {
            **{"vocab_size": 29, "hidden_size": 12, "num_hidden_layers": 4, "intermediate_size": 7, "pad_token_id": 0},
            **{"num_attention_heads": 3, "local_attention": 22},
        },
        ("ModernBertForMaskedLM", "ModernBertModel"),
        inputs="encoder tokens",
    ),
    computation=Computation({"local_attention": 6}),
)
