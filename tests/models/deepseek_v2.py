"""DeepSeek-V2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "deepseek-v2",
    totals=(
        ("deepseek-v2", {}, 235_741_434_880),  # DeepseekV2ForCausalLM on meta; likewise for the next
        ("deepseek-v2-lite", {}, 15_706_484_224),
    ),
    config=SmallConfig(
        "deepseek_v2",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "first_k_dense_replace": 1},
            **{"num_attention_heads": 6, "num_key_value_heads": 6, "intermediate_size": 7},
            **{"moe_intermediate_size": 11, "n_routed_experts": 20, "n_shared_experts": 2, "num_experts_per_tok": 3},
            **{"q_lora_rank": 19, "kv_lora_rank": 14, "qk_nope_head_dim": 10, "qk_rope_head_dim": 4, "v_head_dim": 13},
            **{"n_group": 2, "topk_group": 1},  # with topk_method: group_limited_greedy
        },
        ("DeepseekV2ForCausalLM", "DeepseekV2Model"),
    ),
    computation=Computation(words={"rotate": "neighbours"}),
    options={
        "no latent for queries": Computation({"q_lora_rank": None}, words={"rotate": "neighbours"}),
    },
)
