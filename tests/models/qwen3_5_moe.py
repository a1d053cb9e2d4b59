"""Qwen3.5-MoE."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "qwen3-5-moe",
    totals=(
        # llmfit's total of the whole model, without its image encoder and its module for multi-token prediction.
        # Encoder: as for Qwen3.5-27B, with 4608*2048 + 2048 at the end
        # Module: 2*2048*2048 + 3*2048 + (2*2048 + 2048*256*(3*16 + 2*2) + 2*256)
        # + 256*3*2048*512 + 256*2048 + 3*2048*512 + 2048
        ("qwen3.5-35b-a3b-text", {}, 35_951_822_704 - 446_571_248 - 844_640_768),
        # Likewise, with 4608*4096 + 4096 at the end of the encoder, and 2*4096*4096 + 3*4096
        # + (2*4096 + 4096*256*(3*32 + 2*2) + 2*256) + 512*3*4096*1024 + 512*4096 + 3*4096*1024 + 4096
        ("qwen3.5-397b-a17b-text", {}, 403_397_928_944 - 456_010_480 - 6_595_568_128),
    ),
    config=SmallConfig(
        "qwen3_5_moe_text",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 5, "moe_intermediate_size": 7},
            "layer_types": ["linear_attention", "full_attention", *["linear_attention"] * 2, "full_attention"],
            **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 20, "partial_rotary_factor": 0.4},
            **{"linear_num_key_heads": 3, "linear_num_value_heads": 12, "linear_key_head_dim": 16},
            **{"linear_value_head_dim": 14, "linear_conv_kernel_dim": 4},
            **{"num_experts": 11, "num_experts_per_tok": 4, "shared_expert_intermediate_size": 13},
        },
        ("Qwen3_5MoeForCausalLM", "Qwen3_5MoeTextModel"),
    ),
    computation=Computation(route="shares_of_all"),
)
