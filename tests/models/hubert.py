"""HuBERT."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

WORDS = {"conv": "of_wave", "length_kernel": "of_kernel", "mean_time": "mean_time", "std_time": "std_time"}
MODEL = ModelCase(
    "hubert",
    totals=(
        # HubertModel on meta; likewise for the next two
        ("hubert-base", {}, 94_371_712),
        ("hubert-large", {}, 315_438_720),
        ("hubert-xlarge", {}, 962_497_408),
    ),
    config=SmallConfig(
        "hubert",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3},
            **{"intermediate_size": 7, "conv_dim": [10] * 7, "num_conv_pos_embeddings": 16},
            **{"num_conv_pos_embedding_groups": 6, "layerdrop": 0.0, "mask_time_length": 2},
        },
        ("HubertForCTC", "HubertModel"),
        inputs="sound",
    ),
    computation=Computation(words=WORDS),
    options={
        "hubert with layer norms": Computation(
            {"do_stable_layer_norm": True, "feat_extract_norm": "layer", "conv_bias": True}, words=WORDS
        )
    },
)
