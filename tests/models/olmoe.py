"""OLMoE."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "olmoe",
    totals=(
        # 2*50304*2048 + 16*(4*2048² + 64*3*2048*1024 + 64*2048 + 4*2048) + 2048
        ("olmoe-1b-7b", {}, 6_919_161_856),
    ),
    config=SmallConfig(
        "olmoe",
        {
            **{"vocab_size": 29, "hidden_size": 60, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "eos_token_id": 3},
            **{"num_experts": 11, "num_experts_per_tok": 4},
        },
        ("OlmoeForCausalLM", "OlmoeModel"),
    ),
    computation=Computation(),
)
