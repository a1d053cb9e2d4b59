"""GLM-4 9B."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "glm",
    totals=(
        # llmfit; 2*151552*4096 + 40*(2*4096² + 4096 + 2*(4096*256 + 256) + 3*4096*13696 + 2*4096) + 4096
        ("glm-4-9b-hf", {}, 9_399_951_360),
    ),
    config=SmallConfig(
        "glm",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 20, "pad_token_id": None},
        },
        ("GlmForCausalLM", "GlmModel"),
    ),
    computation=Computation(words={"rotate": "neighbours"}),
)
