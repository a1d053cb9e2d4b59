"""LFM2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "lfm2",
    totals=(
        # llmfit. 65536*1024 + 1024 + 10*(4*1024*1024 + 3*1024) + 6*(2*1024*1024 + 2*1024*512 + 2*64)
        # + 16*(3*1024*4608 + 2*1024)
        ("lfm2-350m", {}, 354_483_968),
        # llmfit. 65536*1536 + 1536 + 10*(4*1536*1536 + 3*1536) + 6*(2*1536*1536 + 2*1536*512 + 2*64)
        # + 16*(3*1536*6912 + 2*1536)
        ("lfm2-700m", {}, 742_489_344),
        # llmfit. 65536*2048 + 2048 + 22*(4*2048*2048 + 3*2048) + 8*(2*2048*2048 + 2*2048*512 + 2*64)
        # + 30*(3*2048*10752 + 2*2048)
        ("lfm2-2.6b", {}, 2_569_272_320),
    ),
    config=SmallConfig(
        "lfm2",
        {
            **{"vocab_size": 29, "hidden_size": 24, "intermediate_size": 7, "block_auto_adjust_ff_dim": False},
            **{"layer_types": ["conv", "full_attention", "conv", "conv", "full_attention"], "num_hidden_layers": 5},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "conv_L_cache": 4},
        },
        ("Lfm2ForCausalLM", "Lfm2Model"),
    ),
    computation=Computation(),
)
