"""Nemotron-H."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "nemotron-h",
    totals=(
        # 2*131072*4096 + 4096 + 52*4096 + 24*(4096*(8192 + 10240 + 128) + 5*10240 + 3*128 + 8192 + 8192*4096)
        # + 4*(2*4096*4096 + 2*4096*1024) + 24*2*4096*21504
        ("nemotron-h-8b", {}, 8_100_852_736),
    ),
    config=SmallConfig(
        "nemotron_h",
        {
            **{"vocab_size": 29, "hidden_size": 24, "intermediate_size": 7},
            "layers_block_type": ["linear_attention", "mlp", "full_attention", "linear_attention", "mlp", "mlp"],
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "mamba_num_heads": 14},
            **{"mamba_head_dim": 11, "n_groups": 2, "ssm_state_size": 17, "conv_kernel": 4, "chunk_size": 3},
        },
        ("NemotronHForCausalLM", "NemotronHModel"),
    ),
    computation=Computation(),
)
