"""Qwen3.5."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "qwen3-5",
    totals=(
        # llmfit's total of the whole model, without its image encoder and its module for multi-token prediction.
        # Encoder: 12*(4*768*768 + 2*768*3072 + 3072 + 9*768) + 1536*768 + 768 + 2304*768 + 2*768 + 3072*3072 + 3072
        # + 3072*1024 + 1024
        # Module: 2*1024*1024 + 3*1024 + (2*1024 + 1024*256*(3*8 + 2*2) + 2*256 + 3*1024*3584)
        ("qwen3.5-0.8b-text", {}, 873_438_784 - 100_592_896 - 20_452_864),
        # Likewise, with an encoder of 27 layers of width 1152 with 4304:
        # 27*(4*1152*1152 + 2*1152*4304 + 4304 + 9*1152) + 1536*1152 + 1152 + 2304*1152 + 2*1152 + 4608*4608 + 4608
        # + 4608*5120 + 5120
        # and with 2*5120*5120 + 3*5120 + (2*5120 + 5120*256*(3*24 + 2*4) + 2*256 + 3*5120*17408)
        ("qwen3.5-27b-text", {}, 27_781_427_952 - 460_730_096 - 424_699_392),
    ),
    config=SmallConfig(
        "qwen3_5_text",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 5, "intermediate_size": 7},
            "layer_types": ["linear_attention", "full_attention", *["linear_attention"] * 2, "full_attention"],
            **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 20, "partial_rotary_factor": 0.4},
            **{"linear_num_key_heads": 3, "linear_num_value_heads": 12, "linear_key_head_dim": 16},
            **{"linear_value_head_dim": 14, "linear_conv_kernel_dim": 4},
        },
        ("Qwen3_5ForCausalLM", "Qwen3_5TextModel"),
    ),
    computation=Computation(),
)
