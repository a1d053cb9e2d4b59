"""FlexOlmo."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "flex-olmo",
    totals=(
        # llmfit; 2*100352*4096 + 32*(4*4096² + 4*4096 + 7*3*4096*11008 + 7*4096) + 4096
        ("flexolmo-7x7b", {}, 33_270_665_216),
        # llmfit; 2*100352*4096 + 32*(4*4096² + 4*4096 + 2*3*4096*11008 + 2*4096) + 4096
        ("flex-reddit-2x7b", {}, 11_627_401_216),
    ),
    config=SmallConfig(
        "flex_olmo",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "pad_token_id": 3},
            **{"num_experts": 11, "num_experts_per_tok": 4},
        },
        ("FlexOlmoForCausalLM", "FlexOlmoModel"),
    ),
    computation=Computation(),
)
