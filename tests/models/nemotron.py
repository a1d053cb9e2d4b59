"""Nemotron-4."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "nemotron",
    totals=(
        # llmfit; 2*256000*4096 + 32*(4*4096² + 2*4096*16384 + 4*4096) + 2*4096
        ("nemotron-3-8b", {}, 8_540_135_424),
        # llmfit; 128000*2048 + 24*(2*2048² + 2*2048*512 + 2*2048*8192 + 4*2048) + 2*2048
        ("luciole-1b", {}, 1_319_309_312),
        # llmfit; 2*256000*4096 + 40*(2*4096*6144 + 2*4096*1024 + 2*4096*16384 + 4*4096) + 2*4096
        ("domyn-small", {}, 9_815_334_912),
    ),
    config=SmallConfig(
        "nemotron",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 20, "partial_rotary_factor": 0.6},
        },
        ("NemotronForCausalLM", "NemotronModel"),
    ),
    computation=Computation(),
)
