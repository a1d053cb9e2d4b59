"""DeepSeek-V3."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "deepseek-v3",
    totals=(
        # by hand, in 61 layers a latent attention of 7168*1536 + 1536 + 1536*128*192 + 7168*576 + 512 + 512*128*256 +
        # 128*128*7168 and two norms, in 3 of them 3*7168*18432, in 58 257*3*7168*2048 + 256*7168; 2*129280*7168 and a
        # norm. A bias for each of 256 experts in 58 layers is a buffer that is not trained; DeepSeek's README prints
        # 671B, and llmfit 1.1.17 states 671,026,419,200 with these biases for MAI-DS-R1
        ("deepseek-v3", {}, 671_026_419_200 - 58 * 256),
        # llmfit 1.1.17, with 64 biases in 26 layers, and with a module for multi-token prediction: a layer, a matrix
        # 2*1536*1536, three norms, an embedding and a head. The layer has a latent attention of 1536*32*192 + 1536*576
        # + 512 + 512*32*320 + 32*192*1536 and two norms, and experts 65*3*1536*1280 + 64*1536
        (
            "gigachat3-10b-a1.8b",
            {},
            11_479_750_784 - 26 * 64 - (25_005_568 + 383_483_904 + 2 * 1536**2 + 3 * 1536 + 2 * 128_256 * 1536),
        ),
    ),
    config=SmallConfig(
        "deepseek_v3",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "first_k_dense_replace": 1},
            **{"num_attention_heads": 6, "num_key_value_heads": 6, "intermediate_size": 7},
            **{"moe_intermediate_size": 11, "n_routed_experts": 20, "n_shared_experts": 2, "num_experts_per_tok": 3},
            **{"q_lora_rank": 19, "kv_lora_rank": 14, "qk_nope_head_dim": 10, "qk_rope_head_dim": 4, "v_head_dim": 13},
            **{"n_group": 2, "topk_group": 1},
        },
        ("DeepseekV3ForCausalLM", "DeepseekV3Model"),
    ),
    computation=Computation(words={"rotate": "neighbours"}, route="of_groups"),
)
