"""DINOv2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "dinov2",
    totals=(
        # keras-hub's, which stores the 37*37 + 1 positions twice; likewise for the next two
        ("dinov2-small", {}, 22_582_656 - 1_370 * 384),
        ("dinov2-base", {}, 87_632_640 - 1_370 * 768),
        ("dinov2-large", {}, 305_771_520 - 1_370 * 1_024),
    ),
    config=SmallConfig(
        "dinov2",
        {
            **{"image_size": 14, "patch_size": 7, "num_channels": 3, "hidden_size": 12, "num_hidden_layers": 2},
            **{"num_attention_heads": 6, "mlp_ratio": 5},
        },
        ("Dinov2Model",),
        inputs="images",
    ),
    computation=Computation(),
)
