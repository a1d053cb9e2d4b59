"""A.X K1."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "axk1",
    totals=(
        # llmfit 1.1.17, without a norm of the dense layer's MLP, which the class does not have
        ("a.x-k1", {}, 518_983_059_456 - 7168),
    ),
    config=SmallConfig(
        "axk1",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 6},
            **{"moe_intermediate_size": 11, "n_routed_experts": 20, "n_shared_experts": 2, "num_experts_per_tok": 3},
            **{"q_lora_rank": 19, "kv_lora_rank": 14, "qk_nope_head_dim": 10, "qk_rope_head_dim": 4, "v_head_dim": 13},
            **{"n_group": 2, "topk_group": 1},
        },
        ("AXK1ForCausalLM", "AXK1Model"),
    ),
    computation=Computation(words={"rotate": "neighbours"}, route="of_groups"),
)
