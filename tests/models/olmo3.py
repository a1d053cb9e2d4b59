"""OLMo 3."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

ROPES = {
    "full_attention": {"rope_type": "default", "rope_theta": 5e5},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
}

MODEL = ModelCase(
    "olmo3",
    totals=(
        # 2*100278*4096 + 32*(4*4096² + 3*4096*11008 + 4*4096) + 4096; llmfit and Olmo3ForCausalLM on meta agree
        ("olmo-3-7b", {}, 7_298_011_136),
        # 2*100278*5120 + 64*(2*5120² + 2*5120*1024 + 3*5120*27648 + 3*5120 + 1024) + 5120; llmfit and torch agree
        ("olmo-3-32b", {}, 32_233_522_176),
    ),
    config=SmallConfig(
        "olmo3",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 4, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "sliding_window": 5},
            "eos_token_id": 3,
        },
        ("Olmo3ForCausalLM", "Olmo3Model"),
    ),
    computation=Computation({"rope_parameters": ROPES}),
)
