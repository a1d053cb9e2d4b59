"""ViT."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "vit",
    totals=(
        # keras-hub's, with the classifier; likewise for the next three
        ("vit-base-patch16-224", {}, 85_798_656 + 769 * 1_000),
        ("vit-large-patch16-224", {}, 303_301_632 + 1_025 * 1_000),
        ("vit-base-patch32-224", {}, 87_455_232 + 769 * 1_000),
        ("vit-huge-patch14-224", {}, 630_764_800 + 1_281 * 1_000),
        ("vit-base-patch16-224", {"head": "pooler"}, 86_389_248),  # ViTModel: without 769*1000, plus 768*768 + 768
    ),
    config=SmallConfig(
        "vit",
        {
            **{"image_size": 14, "patch_size": 7, "num_channels": 3, "hidden_size": 12, "num_hidden_layers": 2},
            **{"num_attention_heads": 6, "intermediate_size": 10, "id2label": {str(each): "" for each in range(11)}},
        },
        ("ViTForImageClassification", "ViTModel"),
        inputs="images",
    ),
    computation=Computation(),
)
