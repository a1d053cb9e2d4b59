"""MiMo-V2-Flash."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

# The checkpoint on the Hugging Face hub also has 256 biases of the router in 47 layers; three modules for multi-token
# prediction, each with attention with a window, 4096*(64*192 + 8*192 + 8*128) + 64*128*4096 + 64, an MLP of
# 3*4096*16384, a matrix of 2*4096*4096 and five norms; and scales of blocks of 128x128 fp8 elements: for 47*256 experts
# 3*16*32 each, for four MLPs 3*128*32, and for queries, keys and values 96*32 + 12*32 + 8*32 in 39 + 3 layers, and
# 96*32 + 8*32 + 4*32 in 9 layers, where each of four ranks has a key head of 192 rows, in two blocks
WINDOWED = 94_371_904
PREDICTION = WINDOWED + 3 * 4096 * 16384 + 2 * 4096**2 + 5 * 4096
SCALES = 47 * 256 * 3 * 16 * 32 + 4 * 3 * 128 * 32 + 42 * 116 * 32 + 9 * 108 * 32

MODEL = ModelCase(
    "mimo-v2-flash",
    totals=(("mimo-v2-flash", {}, 309_785_318_400 - 47 * 256 - 3 * PREDICTION - SCALES),),
    config=SmallConfig(
        "mimo_v2_flash",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 7, "intermediate_size": 33},
            **{"num_attention_heads": 12, "num_key_value_heads": 3, "head_dim": 14, "v_head_dim": 13},
            **{"moe_intermediate_size": 11, "n_routed_experts": 20, "num_experts_per_tok": 4, "sliding_window": 6},
            **{"n_group": 2, "topk_group": 1, "routed_scaling_factor": 2.5},
        },
        ("MiMoV2FlashForCausalLM", "MiMoV2FlashModel"),
    ),
    computation=Computation(route="of_groups", factors={"self_attn": (0.707,)}),
)
