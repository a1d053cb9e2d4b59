"""wav2vec 2.0."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

WORDS = {"conv": "of_wave", "length_kernel": "of_kernel", "mean_time": "mean_time", "std_time": "std_time"}
MODEL = ModelCase(
    "wav2vec2",
    totals=(
        # Wav2Vec2Model on meta; likewise for the next six. By hand: 10*512 + 4*3*512² + 2*2*512² + 2*512 + 2*512
        # + 512*768 + 768 + 768*48*128 + 768 + 128 + 768 + 2*768 + 12*(4*(768² + 768) + 2*768*3072 + 3072 + 768 + 4*768)
        ("wav2vec2-base", {}, 94_371_712),
        ("wav2vec2-base-960h", {}, 94_371_712 + 32 * 768 + 32),  # 94.3965 million in Open Model Zoo
        ("wav2vec2-large", {}, 315_428_992),
        ("wav2vec2-large-lv60", {}, 315_438_720),
        ("wav2vec2-large-960h-lv60-self", {}, 315_438_720 + 32 * 1024 + 32),
        ("wav2vec2-xls-r-1b", {}, 962_497_408),
        ("wav2vec2-xls-r-2b", {}, 2_159_259_648),
    ),
    config=SmallConfig(
        "wav2vec2",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3},
            **{"intermediate_size": 7, "conv_dim": [10] * 7, "num_conv_pos_embeddings": 16},
            **{"num_conv_pos_embedding_groups": 6, "layerdrop": 0.0, "mask_time_length": 2},
        },
        ("Wav2Vec2ForCTC", "Wav2Vec2Model"),
        inputs="sound",
    ),
    computation=Computation(words=WORDS),
    options={
        "wav2vec2 with layer norms": Computation(
            {"do_stable_layer_norm": True, "feat_extract_norm": "layer", "conv_bias": True}, words=WORDS
        )
    },
)
