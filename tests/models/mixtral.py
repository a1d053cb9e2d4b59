"""Mixtral."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "mixtral",
    totals=(
        ("mixtral-8x7b", {}, 46_702_792_704),  # keras-hub
        # 2*32768*6144 + 56*(2*6144² + 2*6144*1024 + 8*3*6144*16384 + 8*6144 + 2*6144) + 6144
        ("mixtral-8x22b", {}, 140_630_071_296),
    ),
    config=SmallConfig(
        "mixtral",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
            **{"num_local_experts": 11, "num_experts_per_tok": 4},
        },
        ("MixtralForCausalLM", "MixtralModel"),
    ),
    computation=Computation(route="of_chosen"),
)
