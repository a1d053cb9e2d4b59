"""Gemma 3 with its vision tower."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig
from .gemma3 import ROPES

MODEL = ModelCase(
    "gemma3-multimodal",
    totals=(
        # llmfit's, from the files on the Hub. By hand, for the image encoder: 3*14*14*1152 + 1152 + 4096*1152
        # + 27*(4*(1152² + 1152) + 2*1152*4304 + 4304 + 1152 + 4*1152) + 2*1152 = 416,866,032; for the projector
        # 1152*E + 1152; the rest is the language model
        ("gemma-3-4b", {}, 416_866_032 + 1152 * 2560 + 1152 + 3_880_263_168),
        ("gemma-3-12b", {}, 12_187_325_040),
        ("gemma-3-27b", {}, 27_432_406_640),
    ),
    config=SmallConfig(
        "gemma3",
        {
            **{"text_config.vocab_size": 29, "text_config.hidden_size": 24, "text_config.intermediate_size": 7},
            **{"text_config.num_hidden_layers": 7, "text_config.num_attention_heads": 6, "image_token_index": 3},
            **{"text_config.num_key_value_heads": 2, "text_config.head_dim": 10, "text_config.sliding_window": 5},
            **{"vision_config.num_hidden_layers": 3, "vision_config.hidden_size": 22, "vision_config.image_size": 40},
            **{"vision_config.patch_size": 10, "vision_config.num_channels": 9, "vision_config.intermediate_size": 17},
            **{
                "vision_config.num_attention_heads": 11,
                "mm_tokens_per_image": 4,
                "vision_config.vision_use_head": False,
            },
        },
        ("Gemma3ForConditionalGeneration", "Gemma3Model"),
        inputs="images among tokens",
    ),
    computation=Computation(
        {
            **{"text_config.query_pre_attn_scalar": 13, "text_config.rope_parameters": ROPES},
            "vision_config.layer_norm_eps": 1e-6,
        },
        factors={"self_attn": (13**-0.5,)},
        epsilon=1e-6,
        apart=("embed_tokens",),  # torch takes the root inside
    ),
)
