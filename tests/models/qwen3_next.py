"""Qwen3-Next."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "qwen3-next",
    totals=(
        # llmfit, for Qwen3-Coder-Next, which has these sizes; the total of Qwen3-Next itself includes its module for
        # multi-token prediction. 2*151936*2048 + 2048
        # + 36*(2048*(2*2048 + 2*4096 + 2*32) + 4*(2*2048 + 4096) + 2*32 + 128 + 4096*2048)
        # + 12*(2048*256*(2*16 + 2*2 + 16) + 2*256)
        # + 48*(512*3*2048*512 + 512*2048 + 3*2048*512 + 2048 + 2*2048)
        ("qwen3-next-80b-a3b", {}, 79_674_391_296),
    ),
    config=SmallConfig(
        "qwen3_next",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 5, "moe_intermediate_size": 7},
            "layer_types": ["linear_attention", "full_attention", *["linear_attention"] * 2, "full_attention"],
            **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 20, "partial_rotary_factor": 0.4},
            **{"linear_num_key_heads": 3, "linear_num_value_heads": 12, "linear_key_head_dim": 16},
            **{"linear_value_head_dim": 14, "linear_conv_kernel_dim": 4},
            **{"num_experts": 11, "num_experts_per_tok": 4, "shared_expert_intermediate_size": 13},
        },
        ("Qwen3NextForCausalLM", "Qwen3NextModel"),
    ),
    computation=Computation(route="shares_of_all"),
)
