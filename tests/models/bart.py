"""BART."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "bart",
    totals=(
        (
            "bart-base",
            {},
            139_417_344 + 2 * 2 * 768,
        ),  # keras-hub's, plus two unused positions in both tables; likewise for bart-large
        ("bart-large", {}, 406_287_360 + 2 * 2 * 1_024),
    ),
    config=SmallConfig(
        "bart",
        {
            **{"vocab_size": 29, "max_position_embeddings": 13, "d_model": 24, "encoder_layers": 1},
            **{"decoder_layers": 2, "encoder_ffn_dim": 7, "decoder_ffn_dim": 7},
            **{"encoder_attention_heads": 3, "decoder_attention_heads": 3},
        },
        ("BartForConditionalGeneration", "BartModel"),
        inputs="source and target",
    ),
    computation=Computation(),
)
