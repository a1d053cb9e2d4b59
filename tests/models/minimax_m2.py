"""MiniMax-M2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "minimax-m2",
    totals=(
        # on meta; by hand 2*200064*3072 + 3072 + 62*(2*3072*6144 + 2*3072*1024 + 6144 + 1024 + 2*3072
        # + 256*3*3072*1536 + 256*3072); MiniMax prints 230B
        ("minimax-m2", {}, 228_689_748_992),
    ),
    config=SmallConfig(
        "minimax_m2",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 20, "partial_rotary_factor": 0.4},
            **{"num_local_experts": 11, "num_experts_per_tok": 4},
        },
        ("MiniMaxM2ForCausalLM", "MiniMaxM2Model"),
    ),
    computation=Computation(route="shares_of_sigmoids"),
)
