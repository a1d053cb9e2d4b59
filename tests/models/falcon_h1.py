"""Falcon-H1."""

from __future__ import annotations

from typing import Any

from . import Computation, ModelCase, SmallConfig

FACTORS: dict[str, Any] = {
    **{"embedding_multiplier": 3.0, "lm_head_multiplier": 0.4},
    **{"ssm_out_multiplier": 1.3, "attention_in_multiplier": 0.5, "attention_out_multiplier": 0.6},
    **{"ssm_in_multiplier": 0.8, "ssm_multipliers": [0.9] * 5, "key_multiplier": 0.7, "mlp_multipliers": [1.1, 0.3]},
}
BY_PART: dict[str, tuple[float, ...]] = {
    **{"": (3.0, 0.4), "layers.*": (1.3, 0.6, 0.5)},
    **{"mamba": (0.8, 0.9), "self_attn": (0.7,), "feed_forward": (0.3, 1.1)},
}

MODEL = ModelCase(
    "falcon-h1",
    totals=(
        # llmfit. 2*32784*1024 + 1024 + 36*(1024*(2*1536 + 2*128 + 24) + 5*(1536 + 2*128) + 3*24 + 1536*1024
        # + 2*1024*512 + 2*1024*128 + 3*1024*2048 + 2*1024)
        ("falcon-h1-0.5b", {}, 521_411_104),
        # llmfit. 2*130048*3072 + 3072 + 44*(3072*(2*3072 + 2*256 + 24) + 5*(3072 + 2*256) + 3*24 + 3072 + 3072*3072
        # + 2*3072*1536 + 2*3072*256 + 3*3072*12288 + 2*3072)
        ("falcon-h1-7b", {}, 7_585_648_736),
    ),
    config=SmallConfig(
        "falcon_h1",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 3, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 20},
            **{"mamba_n_heads": 8, "mamba_d_head": 9, "mamba_d_ssm": 72, "mamba_n_groups": 4, "mamba_d_state": 17},
            **{"mamba_d_conv": 5, "mamba_chunk_size": 11, "mamba_rms_norm": True, "mamba_norm_before_gate": False},
        },
        ("FalconH1ForCausalLM", "FalconH1Model"),
    ),
    computation=Computation(FACTORS, factors=BY_PART),
    options={
        "falcon-h1 with the norm before the gate": Computation(
            {**FACTORS, "mamba_norm_before_gate": True}, factors=BY_PART
        ),
        "falcon-h1 without a norm of the mixer": Computation({**FACTORS, "mamba_rms_norm": False}, factors=BY_PART),
    },
)
