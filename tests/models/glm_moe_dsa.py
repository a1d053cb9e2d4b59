"""GLM-5."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

# of one layer: latent attention 6144*2048 + 2048 + 2048*64*256 + 6144*576 + 512 + 512*64*448 + 64*256*6144, an indexer
# 2048*32*128 + 6144*128 + 2*128 + 6144*32 and two norms, and experts 257*3*6144*2048 + 256*6144
LAYER = 174_394_112 + 12_288 + 9_702_998_016

MODEL = ModelCase(
    "glm-moe-dsa",
    totals=(
        # the checkpoint on the Hugging Face hub, without the biases of 256 experts in 76 layers, which are buffers, and
        # without the module for multi-token prediction: a layer, a matrix 6144*2*6144 and three norms
        ("glm-5", {}, 753_864_139_008 - 76 * 256 - (LAYER + 6144 * 2 * 6144 + 3 * 6144)),
        # the same for GLM-5.2, of 753,329,940,480 elements: 57 indexers fewer
        ("glm-5.2", {}, 753_329_940_480 - 76 * 256 - (LAYER + 6144 * 2 * 6144 + 3 * 6144)),
    ),
    config=SmallConfig(
        "glm_moe_dsa",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "first_k_dense_replace": 1},
            **{"num_attention_heads": 6, "num_key_value_heads": 6, "intermediate_size": 7},
            **{"moe_intermediate_size": 11, "n_routed_experts": 20, "n_shared_experts": 2, "num_experts_per_tok": 3},
            **{"q_lora_rank": 19, "kv_lora_rank": 14, "qk_nope_head_dim": 10, "qk_rope_head_dim": 4, "v_head_dim": 13},
            **{"index_n_heads": 15, "index_head_dim": 8, "index_topk": 5, "n_group": 2, "topk_group": 1},
        },
        ("GlmMoeDsaForCausalLM", "GlmMoeDsaModel"),
    ),
    computation=Computation(
        {"rms_norm_eps": 1e-6},
        words={"rotate": "neighbours"},
        route="of_groups",
        apart=("indexer",),  # the class returns the indices of the keys
    ),
)
