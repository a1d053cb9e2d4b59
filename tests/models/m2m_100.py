"""M2M-100."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "m2m-100",
    totals=(
        ("m2m100-418m", {}, 483_905_536),  # the class on meta; likewise for the next four
        ("m2m100-1.2b", {}, 1_239_470_080),
        ("nllb-200-distilled-600m", {}, 615_073_792),
        ("nllb-200-distilled-1.3b", {}, 1_370_638_336),
        ("nllb-200-3.3b", {}, 3_344_863_232),
    ),
    config=SmallConfig(
        "m2m_100",
        {
            **{"vocab_size": 29, "max_position_embeddings": 13, "d_model": 24, "encoder_layers": 1},
            **{"decoder_layers": 2, "encoder_ffn_dim": 7, "decoder_ffn_dim": 7},
            **{"encoder_attention_heads": 3, "decoder_attention_heads": 3},
            **{"encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0},
        },
        ("M2M100ForConditionalGeneration", "M2M100Model"),
        inputs="source and target",
    ),
    computation=Computation(apart=("shared", "embed_tokens")),  # torch scales inside
)
