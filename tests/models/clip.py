"""CLIP."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "clip",
    totals=(
        # keras-hub's, which includes the position ids of the image; likewise for the next three. By hand, the text:
        # 49408*512 + 77*512 + 12*(12*512² + 13*512) + 2*512; images: 3*32*32*768 + 768 + 50*768 + 12*(12*768² + 13*768)
        # + 2*2*768; then 768*512 + 512*512 + 1
        ("clip-vit-base-patch32", {}, 151_277_363 - (7 * 7 + 1)),
        ("clip-vit-base-patch16", {}, 149_620_934 - (14 * 14 + 1)),
        ("clip-vit-large-patch14", {}, 427_616_770 - (16 * 16 + 1)),
        ("clip-vit-large-patch14-336", {}, 427_944_770 - (24 * 24 + 1)),
    ),
    # fields in sections by their paths
    config=SmallConfig(
        "clip",
        {
            **{"text_config.vocab_size": 29, "text_config.max_position_embeddings": 13, "text_config.hidden_size": 24},
            **{"text_config.intermediate_size": 7, "text_config.num_hidden_layers": 2, "projection_dim": 19},
            **{"text_config.num_attention_heads": 3, "vision_config.hidden_size": 22, "vision_config.image_size": 20},
            **{"vision_config.patch_size": 10, "vision_config.num_channels": 6, "vision_config.intermediate_size": 17},
            **{"vision_config.num_hidden_layers": 1, "vision_config.num_attention_heads": 11},
        },
        ("CLIPModel",),
        inputs="texts and images",
    ),
    computation=Computation({"text_config.eos_token_id": 26}),
)
