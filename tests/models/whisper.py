"""Whisper."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "whisper",
    totals=(
        ("whisper-tiny", {}, 37_760_640),  # keras-hub; likewise for the next four; includes 1500*384 sines
        ("whisper-base", {}, 72_593_920),
        ("whisper-small", {}, 241_734_912),
        ("whisper-medium", {}, 763_857_920),
        ("whisper-large-v2", {}, 1_543_304_960),
        # large-v2's, plus a row of tokens and 48 bands: 1280 + 3*48*1280
        ("whisper-large-v3", {}, 1_543_304_960 + 1_280 + 3 * 48 * 1_280),
        ("whisper-large-v3-turbo", {}, 808_878_080),  # WhisperForConditionalGeneration on meta
    ),
    config=SmallConfig(
        "whisper",
        {
            **{"vocab_size": 29, "max_target_positions": 13, "max_source_positions": 10, "num_mel_bins": 11},
            **{"d_model": 24, "encoder_layers": 1, "decoder_layers": 2, "encoder_ffn_dim": 7, "decoder_ffn_dim": 7},
            **{"encoder_attention_heads": 3, "decoder_attention_heads": 3, "pad_token_id": 0},
        },
        ("WhisperForConditionalGeneration", "WhisperModel"),
        inputs="source and target",
    ),
    computation=Computation(words={"conv": "heard"}),
)
