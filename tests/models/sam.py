"""The image encoder of SAM."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

WORDS = {"by_row": "row_products", "by_column": "column_products"}
MODEL = ModelCase(
    "sam",
    totals=(
        # Ma et al. 2024 (MedSAM), in the description of its training
        ("sam-vit-base", {}, 89_670_912),
        # SamVisionModel on meta; likewise for the next one. By hand: 3*16*16*1024 + 1024 + 64*64*1024
        # + 24*(4*(1024² + 1024) + 2*1024*4096 + 4096 + 1024 + 4*1024) + 20*2*27*64 + 4*2*127*64 + 1024*256 + 9*256²
        # + 4*256
        ("sam-vit-large", {}, 308_278_272),
        ("sam-vit-huge", {}, 637_026_048),
    ),
    config=SmallConfig(
        "sam_vision_model",
        {
            **{"image_size": 50, "patch_size": 10, "num_channels": 11, "hidden_size": 24, "num_hidden_layers": 3},
            **{"num_attention_heads": 6, "mlp_dim": 7, "window_size": 3, "output_channels": 13},
            **{"global_attn_indexes": [1], "attn_implementation": "eager"},
        },
        ("SamVisionModel",),
        inputs="images",
    ),
    computation=Computation({"layer_norm_eps": 1e-6}, epsilon=1e-6, words=WORDS),  # of the norms of the neck,
)
