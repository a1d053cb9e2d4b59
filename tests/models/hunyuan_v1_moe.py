"""Hunyuan with experts."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "hunyuan-v1-moe",
    totals=(
        # llmfit; 128167*4096 + 32*(2*4096² + 2*4096*1024 + 2*128 + 2*4096 + 65*3*4096*3072 + 64*4096) + 4096
        ("hunyuan-a13b", {}, 80_393_183_232),
    ),
    config=SmallConfig(
        "hunyuan_v1_moe",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "num_experts": 11, "moe_topk": 4},
        },
        ("HunYuanMoEV1ForCausalLM", "HunYuanMoEV1Model"),
    ),
    computation=Computation(route="shares_of_all"),
)
