"""SmolLM3."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "smollm3",
    totals=(
        # 128256*2048 + 36*(2*2048² + 2*2048*512 + 3*2048*11008 + 2*2048) + 2048; llmfit and SmolLM3ForCausalLM on meta
        ("smollm3-3b", {}, 3_075_098_624),
    ),
    config=SmallConfig(
        "smollm3",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 5, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "pad_token_id": 3},
        },
        ("SmolLM3ForCausalLM", "SmolLM3Model"),
    ),
    computation=Computation(),
)
