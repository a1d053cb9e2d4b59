"""mBART."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "mbart",
    totals=(
        # issue 4980 of fairseq, and the class on meta; cc25 has 27 fewer rows of 1,024
        ("mbart-large-50", {}, 610_879_488),
        ("mbart-large-cc25", {}, 610_879_488 - 27 * 1_024),
    ),
    config=SmallConfig(
        "mbart",
        {
            **{"vocab_size": 29, "max_position_embeddings": 13, "d_model": 24, "encoder_layers": 1},
            **{"decoder_layers": 2, "encoder_ffn_dim": 7, "decoder_ffn_dim": 7},
            **{"encoder_attention_heads": 3, "decoder_attention_heads": 3},
        },
        ("MBartForConditionalGeneration", "MBartModel"),
        inputs="source and target",
    ),
    computation=Computation(),
)
