"""Granite."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "granite",
    totals=(
        # 49155*2048 + 40*(2*2048² + 2*2048*512 + 3*2048*8192 + 2*2048) + 2048
        ("granite-3.0-2b", {}, 2_533_531_648),
        # 49155*4096 + 40*(2*4096² + 2*4096*1024 + 3*4096*12800 + 2*4096) + 4096
        ("granite-3.0-8b", {}, 8_170_848_256),
    ),
    config=SmallConfig(
        "granite",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
        },
        ("GraniteForCausalLM", "GraniteModel"),
    ),
    computation=Computation(
        {"embedding_multiplier": 3.0, "attention_multiplier": 0.7, "residual_multiplier": 0.4, "logits_scaling": 2.5},
        factors={"": (3.0, 1 / 2.5), "self_attn": (0.7,), "layers.*": (0.4, 0.4)},
    ),
)
