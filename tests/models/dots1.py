"""dots.llm1."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "dots1",
    totals=(
        # on meta; by hand 2*152064*4096 + 4096 + 62*(4*4096*4096 + 2*128 + 2*4096) + 3*4096*10944
        # + 61*(130*3*4096*1408 + 128*4096); the paper prints 142B
        ("dots.llm1", {}, 142_774_373_888),
    ),
    config=SmallConfig(
        "dots1",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "first_k_dense_replace": 1},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "intermediate_size": 7},
            **{"moe_intermediate_size": 11, "n_routed_experts": 20, "n_shared_experts": 2, "num_experts_per_tok": 4},
            **{"n_group": 2, "topk_group": 1, "routed_scaling_factor": 2.5, "norm_topk_prob": True},
            "sliding_window": None,
        },
        ("Dots1ForCausalLM", "Dots1Model"),
    ),
    computation=Computation(route="of_groups"),
)
