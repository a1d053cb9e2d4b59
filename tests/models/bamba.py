"""Bamba."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "bamba",
    totals=(
        # llmfit. 2*128256*4096 + 4096 + 29*(4096*(2*8192 + 2*128 + 128) + 5*(8192 + 2*128) + 3*128 + 8192 + 8192*4096)
        # + 3*(2*4096*4096 + 2*4096*1024) + 32*(3*4096*14336 + 2*4096)
        ("bamba-9b", {}, 9_780_235_392),
    ),
    config=SmallConfig(
        "bamba",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 5, "intermediate_size": 7},
            **{"attn_layer_indices": [1, 4], "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 20},
            **{"mamba_n_heads": 8, "mamba_d_head": 9, "mamba_expand": 3, "mamba_n_groups": 2, "mamba_d_state": 17},
            **{"mamba_d_conv": 4, "mamba_chunk_size": 11},
        },
        ("BambaForCausalLM", "BambaModel"),
    ),
    computation=Computation(),
)
