"""GLM-4.5."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "glm4-moe",
    totals=(
        # on meta; by hand 2*151552*4096 + 4096 + 46*(2*4096*12288 + 2*4096*1024 + 12288 + 2*1024 + 2*4096)
        # + 3*4096*10944 + 45*(129*3*4096*1408 + 128*4096); the paper prints 106B
        ("glm-4.5-air", {}, 106_852_245_504),
        # on meta; by hand 2*151552*5120 + 5120 + 92*(2*5120*12288 + 2*5120*1024 + 12288 + 2*1024 + 2*128 + 2*5120)
        # + 3*3*5120*12288 + 89*(161*3*5120*1536 + 160*5120); the paper prints 355B, with the module for
        # multi-token prediction
        ("glm-4.5", {}, 352_797_814_784),
    ),
    config=SmallConfig(
        "glm4_moe",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "first_k_dense_replace": 1},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 30, "intermediate_size": 7},
            **{"moe_intermediate_size": 11, "n_routed_experts": 20, "n_shared_experts": 2, "num_experts_per_tok": 4},
            **{"n_group": 2, "topk_group": 1, "routed_scaling_factor": 2.5, "partial_rotary_factor": 0.4},
        },
        ("Glm4MoeForCausalLM", "Glm4MoeModel"),
    ),
    computation=Computation(route="of_groups"),
)
