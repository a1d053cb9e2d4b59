"""Qwen2-MoE."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "qwen2-moe",
    totals=(
        # keras-hub
        # 2*151936*2048 + 24*(4*2048² + 3*2048 + 60*3*2048*1408 + 60*2048 + 3*2048*5632 + 2048 + 2*2048) + 2048
        ("qwen1.5-moe-a2.7b", {}, 14_315_784_192),
        # 2*151936*3584 + 28*(2*3584² + 2*3584*512 + 3584 + 2*512 + 64*3*3584*2560 + 64*3584 + 3*3584*20480 + 3*3584)
        # + 3584
        ("qwen2-57b-a14b", {}, 57_408_658_944),
    ),
    config=SmallConfig(
        "qwen2_moe",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "moe_intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
            **{"num_experts": 11, "num_experts_per_tok": 4, "shared_expert_intermediate_size": 13},
        },
        ("Qwen2MoeForCausalLM", "Qwen2MoeModel"),
    ),
    computation=Computation(),
)
