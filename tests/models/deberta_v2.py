"""DeBERTa-v3."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "deberta-v2",
    totals=(
        ("deberta-v3-xsmall", {}, 70_682_112),  # keras-hub; likewise for the next four
        ("deberta-v3-small", {}, 141_304_320),
        ("deberta-v3-base", {}, 183_831_552),
        ("deberta-v3-large", {}, 434_012_160),
        ("mdeberta-v3-base", {}, 278_218_752),
    ),
    config=SmallConfig(
        "deberta-v2",
        {
            **{"vocab_size": 29, "max_position_embeddings": 13, "hidden_size": 12, "num_hidden_layers": 2},
            **{"num_attention_heads": 3, "intermediate_size": 7, "position_buckets": 10, "relative_attention": True},
            **{"share_att_key": True, "norm_rel_ebd": "layer_norm", "pos_att_type": ["p2c", "c2p"]},
            "position_biased_input": False,
        },
        ("DebertaV2ForMaskedLM", "DebertaV2Model"),
        inputs="encoder tokens",
    ),
    computation=Computation(
        factors={"attention": 3 * (12**-0.5,)},  # three products, each over the root of 3·4
        apart=("attention",),  # torch takes the norm inside
    ),
)
