"""PaliGemma."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "paligemma",
    totals=(
        # 2,923,466,480 is published with listings of its modules. By hand, for the image encoder: 3*14*14*1152 + 1152
        # + 256*1152 + 27*(4*(1152² + 1152) + 2*1152*4304 + 4304 + 1152 + 4*1152) + 2*1152 = 412,442,352; for the
        # projector: 1152*2048 + 2048. Gemma 2B has 2,506,172,416, here with 1,216 more rows of tokens.
        ("paligemma-3b-224", {}, 412_442_352 + 2_361_344 + 2_506_172_416 + 1_216 * 2048),
        ("paligemma-3b-448", {}, 2_923_466_480 + (1024 - 256) * 1152),
        ("paligemma-3b-896", {}, 2_923_466_480 + (4096 - 256) * 1152),
    ),
    config=SmallConfig(
        "paligemma",
        {
            **{"text_config.vocab_size": 29, "text_config.hidden_size": 24, "text_config.intermediate_size": 7},
            **{"text_config.num_hidden_layers": 2, "text_config.num_attention_heads": 6, "image_token_index": 3},
            **{"text_config.num_key_value_heads": 3, "text_config.head_dim": 10, "projection_dim": 24},
            **{"vision_config.num_hidden_layers": 4, "vision_config.hidden_size": 22, "vision_config.image_size": 20},
            **{"vision_config.patch_size": 10, "vision_config.num_channels": 5, "vision_config.intermediate_size": 17},
            **{"vision_config.num_attention_heads": 11, "vision_config.vision_use_head": False},
        },
        ("PaliGemmaForConditionalGeneration", "PaliGemmaModel"),
        inputs="images among tokens",
    ),
    computation=Computation(
        {"text_config.rms_norm_eps": 1e-6, "vision_config.layer_norm_eps": 1e-6},
        epsilon=1e-6,
        apart=("embed_tokens",),  # torch takes the root inside
    ),
)
