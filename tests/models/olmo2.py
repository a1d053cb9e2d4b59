"""OLMo 2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "olmo2",
    totals=(
        # 2*100352*4096 + 32*(4*4096² + 3*4096*11008 + 4*4096) + 4096
        ("olmo-2-7b", {}, 7_298_617_344),
        # 2*100352*5120 + 40*(4*5120² + 3*5120*13824 + 4*5120) + 5120
        ("olmo-2-13b", {}, 13_716_198_400),
    ),
    config=SmallConfig(
        "olmo2",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "eos_token_id": 3},
        },
        ("Olmo2ForCausalLM", "Olmo2Model"),
    ),
    computation=Computation(),
)
