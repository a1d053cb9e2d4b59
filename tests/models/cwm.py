"""Code World Model."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "cwm",
    totals=(
        # on meta; by hand 2*128256*6144 + 64*(2*6144² + 2*6144*1024 + 3*6144*21504 + 2*6144) + 6144; the paper prints
        # 32B
        ("cwm", {}, 32_581_097_472),
    ),
    config=SmallConfig(
        "cwm",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 4, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "sliding_window": 5},
            "bos_token_id": 3,
        },
        ("CwmForCausalLM", "CwmModel"),
    ),
    computation=Computation({"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}),
)
