"""Jamba."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "jamba",
    totals=(
        # llmfit. 2*65536*4096 + 4096 + 28*(3*4096*8192 + 5*8192 + 8192*(256 + 2*16) + 257*8192 + 17*8192 + 256 + 2*16)
        # + 4*(2*4096*4096 + 2*4096*1024) + 16*3*4096*14336 + 16*(16*3*4096*14336 + 16*4096) + 32*2*4096
        ("jamba-v0.1", {}, 51_570_323_328),
        # llmfit. 65536*2560 + 2560 + 26*(3*2560*5120 + 5*5120 + 5120*(160 + 2*16) + 161*5120 + 17*5120 + 160 + 2*16)
        # + 2*(2*2560*2560 + 2*2560*128) + 28*(3*2560*8192 + 2*2560)
        ("jamba2-3b", {}, 3_029_337_472),
    ),
    config=SmallConfig(
        "jamba",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 10, "intermediate_size": 7},
            **{"attn_layer_period": 4, "attn_layer_offset": 2, "expert_layer_period": 4, "expert_layer_offset": 1},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 20, "num_experts": 11},
            **{"num_experts_per_tok": 8, "mamba_expand": 3, "mamba_d_state": 17, "mamba_d_conv": 4},
            **{"mamba_dt_rank": 13},
        },
        ("JambaForCausalLM", "JambaModel"),
    ),
    computation=Computation(route="of_all"),
    options={"jamba without experts": Computation({"num_experts": 1})},
)
