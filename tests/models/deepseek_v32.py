"""DeepSeek-V3.2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

# of one layer: 1536*64*128 for the queries, 7168*128 and a norm of 2*128 for the keys, 7168*64 for the weights
INDEXER = 13_959_424

MODEL = ModelCase(
    "deepseek-v32",
    totals=(
        # DeepSeek-V3's total and an indexer in each of 61 layers. The checkpoint of DeepSeek-V3.2-Exp on the Hugging
        # Face hub has 685,396,921,376 elements and DeepSeek-V3's 684,531,386,000, which also include a module for
        # multi-token prediction: 62*INDEXER more, and 62*(64*12 + 56) scales of blocks of 128x128 fp8 elements
        ("deepseek-v3.2", {}, 671_026_419_200 - 58 * 256 + 61 * INDEXER),
    ),
    config=SmallConfig(
        "deepseek_v32",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "first_k_dense_replace": 1},
            **{"num_attention_heads": 6, "num_key_value_heads": 6, "intermediate_size": 7},
            **{"moe_intermediate_size": 11, "n_routed_experts": 20, "n_shared_experts": 2, "num_experts_per_tok": 3},
            **{"q_lora_rank": 19, "kv_lora_rank": 14, "qk_nope_head_dim": 10, "qk_rope_head_dim": 4, "v_head_dim": 13},
            **{"index_n_heads": 15, "index_head_dim": 8, "index_topk": 5, "n_group": 2, "topk_group": 1},
        },
        ("DeepseekV32ForCausalLM", "DeepseekV32Model"),
    ),
    computation=Computation(
        words={
            "rotate": "neighbours",
            **{f"{layer}.self_attn.indexer.rotate": "halves" for layer in ("dense_layers.0", "moe_layers.1")},
        },
        route="of_groups",
        apart=("indexer",),  # the class returns the indices of the keys
    ),
)
