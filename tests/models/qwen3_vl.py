"""Qwen3-VL."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "qwen3-vl",
    totals=(
        # llmfit's, from the files on the Hub. By hand, for the image encoder of 2B: 3*2*16*16*1024 + 1024,
        # 2304*1024, 24*(4*(1024² + 1024) + 2*1024*4096 + 4096 + 1024 + 4*1024) = 302,309,376, and mergers of 4096²
        # + 4096 + 4096*2048 + 2048 with a norm of 2*1024 or, three times, of 2*4096. The language model: 1,720,574,976.
        ("qwen3-vl-2b", {}, 2_127_532_032),
        ("qwen3-vl-2b", {}, 1_720_574_976 + 1_573_888 + 2_359_296 + 302_309_376 + 4 * 25_171_968 + 2048 + 3 * 8192),
        ("qwen3-vl-4b", {}, 4_437_815_808),
        ("qwen3-vl-8b", {}, 8_767_123_696),
        ("qwen3-vl-32b", {}, 33_357_390_064),
    ),
    config=SmallConfig(
        "qwen3_vl",
        {
            **{"text_config.vocab_size": 29, "text_config.hidden_size": 26, "text_config.intermediate_size": 7},
            **{"text_config.num_hidden_layers": 5, "text_config.num_attention_heads": 6, "image_token_id": 3},
            **{"text_config.num_key_value_heads": 3, "text_config.head_dim": 10, "vision_config.depth": 4},
            **{"vision_config.hidden_size": 44, "vision_config.patch_size": 9, "vision_config.temporal_patch_size": 8},
            **{"vision_config.in_channels": 5, "vision_config.intermediate_size": 17, "vision_config.num_heads": 11},
            **{"vision_config.spatial_merge_size": 2, "vision_config.num_position_embeddings": 25},
            **{"vision_config.out_hidden_size": 26, "vision_config.deepstack_visual_indexes": [3, 0]},
        },
        ("Qwen3VLForConditionalGeneration", "Qwen3VLModel"),
        inputs="images among tokens",
    ),
    computation=Computation(
        {
            # two frequencies for the rows and two for the columns of patches
            **{"vision_config.hidden_size": 88, "vision_config.hidden_act": "gelu"},
            "vision_config.deepstack_visual_indexes": [1, 2],
            # five pairs: time, height, width, time, and time again, since only one pair has the height
            "text_config.rope_parameters": {"rope_type": "default", "rope_theta": 5e2, "mrope_section": [3, 1, 1]},
        },
        epsilon=1e-6,
        apart=("language_model.deepstack_layers.0", "language_model.deepstack_layers.1"),  # torch adds features outside
    ),
)
