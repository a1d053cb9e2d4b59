"""SigLIP."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "siglip",
    totals=(
        # keras-hub's, which includes the position ids of the image and of the 64 tokens of a text, 16 in one model;
        # likewise for all but the last
        ("siglip-base-patch16-224", {}, 203_156_230 - (14 * 14 + 64)),
        ("siglip-base-patch16-256", {}, 203_202_370 - (16 * 16 + 64)),
        ("siglip-base-patch16-384", {}, 203_448_450 - (24 * 24 + 64)),
        ("siglip-base-patch16-512", {}, 203_792_962 - (32 * 32 + 64)),
        ("siglip-large-patch16-256", {}, 652_151_106 - (16 * 16 + 64)),
        ("siglip-large-patch16-384", {}, 652_479_106 - (24 * 24 + 64)),
        ("siglip-so400m-patch14-224", {}, 877_360_578 - (16 * 16 + 16)),
        ("siglip2-base-patch16-224", {}, 375_188_230 - (14 * 14 + 64)),
        ("siglip2-base-patch16-256", {}, 375_234_370 - (16 * 16 + 64)),
        ("siglip2-large-patch16-256", {}, 881_527_106 - (16 * 16 + 64)),
        ("siglip2-large-patch16-384", {}, 881_855_106 - (24 * 24 + 64)),
        ("siglip2-large-patch16-512", {}, 882_314_306 - (32 * 32 + 64)),
        ("siglip2-so400m-patch14-224", {}, 1_135_463_922 - (16 * 16 + 64)),
        ("siglip2-so400m-patch16-256", {}, 1_135_671_282 - (16 * 16 + 64)),
        ("siglip2-so400m-patch16-384", {}, 1_136_040_242 - (24 * 24 + 64)),
        ("siglip2-so400m-patch16-512", {}, 1_136_555_698),
    ),
    # fields in sections by their paths
    config=SmallConfig(
        "siglip",
        {
            **{"text_config.vocab_size": 29, "text_config.max_position_embeddings": 13, "text_config.hidden_size": 24},
            **{"text_config.intermediate_size": 7, "text_config.num_hidden_layers": 2, "vision_config.patch_size": 10},
            **{"text_config.num_attention_heads": 3, "vision_config.hidden_size": 24, "vision_config.image_size": 20},
            **{"vision_config.num_channels": 6, "vision_config.intermediate_size": 17},
            **{"vision_config.num_hidden_layers": 1, "vision_config.num_attention_heads": 8},
        },
        ("SiglipModel",),
        inputs="texts and images",
    ),
    computation=Computation(epsilon=1e-6),
)
