"""Gemma 4."""

from __future__ import annotations

from typing import Any

from . import Computation, ModelCase, SmallConfig

ROPES = {
    "full_attention": {"rope_type": "default", "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
}
ONE = {"": (1.0,), "local_layers.*": (1.0,), "global_layers.*": (1.0,)}  # of the layers, from their checkpoint

USUAL: dict[str, Any] = {"apart": ("embed_tokens",), "factors": ONE}

MODEL = ModelCase(
    "gemma4",
    totals=(
        # on meta; by hand 262144*5376 + 5376 + 50*(2*5376*8192 + 2*5376*4096 + 2*256)
        # + 10*(2*5376*16384 + 5376*2048 + 2*512) + 60*(3*5376*21504 + 4*5376)
        ("gemma-4-31b-text", {}, 30_697_345_280),
        # on meta; by hand 262144*2816 + 2816 + 25*(2*2816*4096 + 2*2816*2048 + 2*256)
        # + 5*(2*2816*8192 + 2816*1024 + 2*512) + 30*(3*2816*2112 + 128*3*2816*704 + 128*2816 + 8*2816 + 128)
        ("gemma-4-26b-a4b-text", {}, 25_233_141_760),
    ),
    config=SmallConfig(
        "gemma4_text",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 7, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 10, "sliding_window": 4},
            **{"global_head_dim": 14, "num_global_key_value_heads": 3, "hidden_size_per_layer_input": 0},
            **{"num_experts": 11, "top_k_experts": 3, "moe_intermediate_size": 13},
        },
        ("Gemma4ForCausalLM", "Gemma4TextModel"),
    ),
    computation=Computation({"rope_parameters": ROPES}, **USUAL),
    options={
        "gemma 4 with keys as values": Computation({"rope_parameters": ROPES, "attention_k_eq_v": True}, **USUAL),
        "gemma 4 with experts": Computation(
            {"rope_parameters": ROPES, "enable_moe_block": True}, route="shares_of_all", **USUAL
        ),
    },
)
