"""Hunyuan."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "hunyuan-v1-dense",
    totals=(
        # llmfit; 120818*1024 + 24*(2*1024*2048 + 2*1024*1024 + 3*1024*3584 + 2*128 + 2*1024) + 1024
        ("hunyuan-0.5b", {}, 539_010_048),
        # llmfit; 120818*2048 + 32*(2*2048² + 2*2048*512 + 3*2048*6144 + 2*128 + 2*2048) + 2048
        ("hunyuan-1.8b", {}, 1_791_080_448),
        # llmfit; 120818*3072 + 36*(2*3072*4096 + 2*3072*1024 + 3*3072*8192 + 2*128 + 2*3072) + 3072
        ("hunyuan-4b", {}, 4_221_757_440),
        # llmfit; 128167*4096 + 32*(2*4096² + 2*4096*1024 + 3*4096*14336 + 2*128 + 2*4096) + 4096
        ("hunyuan-7b", {}, 7_504_568_320),
    ),
    config=SmallConfig(
        "hunyuan_v1_dense",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
        },
        ("HunYuanDenseV1ForCausalLM", "HunYuanDenseV1Model"),
    ),
    computation=Computation(),
)
