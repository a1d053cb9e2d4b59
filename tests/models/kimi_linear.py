"""Kimi Linear."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

KINDS = ["linear_attention", "linear_attention", "full_attention", "linear_attention", "full_attention"]

MODEL = ModelCase(
    "kimi-linear",
    totals=(
        # llmfit's total, without the 26*256 biases of the choice of experts, which are buffers in transformers' class.
        # 2*163840*2304 + 2304 + 27*2*2304 + 3*2304*9216
        # + 20*(4*2304*4096 + 3*4096*4 + 2*2304*128 + 2*128*4096 + 4096 + 32 + 2304*32 + 128)
        # + 7*(2304*32*192 + 2304*(512 + 64) + 512 + 512*32*(128 + 128) + 32*128*2304)
        # + 26*(256*3*2304*1024 + 256*2304 + 3*2304*1024)
        ("kimi-linear-48b-a3b", {}, 49_122_681_728 - 26 * 256),
    ),
    config=SmallConfig(
        "kimi_linear",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 5, "intermediate_size": 7},
            **{"layer_types": KINDS, "first_k_dense_replace": 1, "pad_token_id": None},
            **{"num_attention_heads": 6, "num_key_value_heads": 6, "kv_lora_rank": 11, "qk_nope_head_dim": 10},
            **{"qk_rope_head_dim": 14, "v_head_dim": 13},
            **{"linear_num_heads": 3, "linear_head_dim": 16, "linear_conv_kernel_dim": 4},
            **{"moe_intermediate_size": 17, "num_experts": 20, "num_experts_per_token": 5, "num_shared_experts": 2},
            **{"num_expert_group": 2, "routed_scaling_factor": 2.5, "rms_norm_eps": 1e-6},
        },
        ("KimiLinearForCausalLM", "KimiLinearModel"),
    ),
    computation=Computation(route="of_groups"),
    options={
        "kimi linear with a query latent": Computation({"q_lora_rank": 15}, route="of_groups"),
    },
)
