"""GLM-4.7-Flash."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

# of one layer: latent attention 2048*768 + 768 + 768*20*256 + 2048*576 + 512 + 512*20*448 + 20*256*2048 and two norms,
# and experts 65*3*2048*1536 + 64*2048
LAYER = 21_763_328 + 613_548_032

MODEL = ModelCase(
    "glm4-moe-lite",
    totals=(
        # llmfit, without the biases of 64 experts in 47 layers, which are buffers, and without the module for
        # multi-token prediction: a layer, a matrix 2048*4096, three norms, an embedding and a head
        (
            "glm-4.7-flash",
            {},
            31_221_488_576 - 47 * 64 - (LAYER + 2048 * 4096 + 3 * 2048 + 2 * 154_880 * 2048),
        ),
    ),
    config=SmallConfig(
        "glm4_moe_lite",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 6},
            **{"moe_intermediate_size": 11, "n_routed_experts": 20, "n_shared_experts": 2, "num_experts_per_tok": 3},
            **{"q_lora_rank": 19, "kv_lora_rank": 14, "qk_nope_head_dim": 10, "qk_rope_head_dim": 4, "v_head_dim": 13},
            **{"n_group": 2, "topk_group": 1, "routed_scaling_factor": 2.5},
        },
        ("Glm4MoeLiteForCausalLM", "Glm4MoeLiteModel"),
    ),
    computation=Computation({"rms_norm_eps": 1e-6}, words={"rotate": "neighbours"}, route="of_groups"),
)
