"""LFM2-MoE."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "lfm2-moe",
    totals=(
        # llmfit. 65536*2048 + 2048 + 18*(4*2048*2048 + 3*2048) + 6*(2*2048*2048 + 2*2048*512 + 2*64) + 2*3*2048*7168
        # + 22*(32*2048 + 32*3*2048*1792) + 24*2*2048
        ("lfm2-8b-a1b", {}, 8_339_929_856),
        # llmfit prints 23,843,661,440, with 38*64 biases of the routing, which are buffers in transformers' class
        ("lfm2-24b-a2b", {}, 23_843_659_008),
    ),
    config=SmallConfig(
        "lfm2_moe",
        {
            **{"vocab_size": 29, "hidden_size": 24, "intermediate_size": 7, "num_hidden_layers": 5},
            **{"layer_types": ["conv", "full_attention", "conv", "conv", "full_attention"], "num_dense_layers": 1},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "conv_L_cache": 4},
            **{"moe_intermediate_size": 13, "num_experts": 11, "num_experts_per_tok": 8},
        },
        ("Lfm2MoeForCausalLM", "Lfm2MoeModel"),
    ),
    computation=Computation(route="shares_of_sigmoids"),
)
