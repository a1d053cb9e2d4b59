"""DINOv3."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "dinov3-vit",
    totals=(
        # the model cards state 21M, 29M, 86M, 300M and 840M. By hand:
        # 768*384 + 12*(4*384² + 2*384*1536 + 10*384 + 1536) + (4 + 5)*384
        ("dinov3-vits16", {}, 21_596_544),
        # 768*384 + 12*(4*384² + 3*384*1536 + 10*384 + 2*1536) + 9*384
        ("dinov3-vits16plus", {}, 28_692_864),
        # 768*768 + 12*(4*768² + 2*768*3072 + 10*768 + 3072) + 9*768
        ("dinov3-vitb16", {}, 85_660_416),
        # 768*1024 + 24*(4*1024² + 2*1024*4096 + 10*1024 + 4096) + 9*1024
        ("dinov3-vitl16", {}, 303_129_600),
        # 768*1280 + 32*(4*1280² + 3*1280*5120 + 10*1280 + 2*5120) + 9*1280
        ("dinov3-vith16plus", {}, 840_592_640),
    ),
    config=SmallConfig(
        "dinov3_vit",
        {
            **{"image_size": 14, "patch_size": 7, "num_channels": 3, "hidden_size": 24, "num_hidden_layers": 2},
            **{"num_attention_heads": 6, "intermediate_size": 10, "num_register_tokens": 5},
        },
        ("DINOv3ViTModel",),
        inputs="images",
    ),
    computation=Computation(words={"rotate": "last_halves"}),
    options={
        "gated DINOv3": Computation({"use_gated_mlp": True, "hidden_act": "silu"}, words={"rotate": "last_halves"})
    },
)
