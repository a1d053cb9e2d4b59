"""LLaVA."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "llava",
    totals=(
        # llmfit's, from the files on the Hub. By hand: the image encoder has 3*14*14*1024 + 1024 + 577*1024 + 2*1024
        # + 24*(4*(1024² + 1024) + 2*1024*4096 + 4096 + 1024 + 4*1024) + 2*1024; the projector 1024*4096 + 4096 + 4096²
        # + 4096; and Llama 2 has 6,738,415,616, here with 64 more rows in two tables
        ("llava-1.5-7b", {}, 303_507_456 + 20_979_712 + 6_738_415_616 + 2 * 64 * 4096),
        ("llava-1.5-13b", {}, 13_351_494_656),
        ("llava-llama-3-8b-v1.1", {}, 8_355_272_704),
    ),
    config=SmallConfig(
        "llava",
        {
            **{"text_config.vocab_size": 29, "text_config.hidden_size": 24, "text_config.intermediate_size": 7},
            **{"text_config.num_hidden_layers": 2, "text_config.num_attention_heads": 6, "image_token_index": 3},
            **{"text_config.num_key_value_heads": 3, "text_config.head_dim": 10, "vision_config.num_hidden_layers": 4},
            **{"vision_config.hidden_size": 22, "vision_config.image_size": 20, "vision_config.patch_size": 10},
            **{"vision_config.num_channels": 5, "vision_config.intermediate_size": 17},
            **{"vision_config.num_attention_heads": 11},
        },
        ("LlavaForConditionalGeneration", "LlavaModel"),
        inputs="images among tokens",
    ),
    computation=Computation({"vision_config.hidden_act": "gelu", "text_config.rms_norm_eps": 1e-5}, epsilon=1e-5),
)
