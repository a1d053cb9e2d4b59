"""Falcon."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "falcon",
    totals=(
        # transformers' classes on meta unless stated otherwise
        ("falcon-7b", {}, 6_921_720_704),
        ("falcon-40b", {}, 41_303_293_952),
        ("falcon-rw-1b", {}, 1_311_625_216),  # keras-hub
    ),
    config=SmallConfig(
        "falcon",
        {
            **{"vocab_size": 29, "hidden_size": 60, "num_hidden_layers": 2, "num_attention_heads": 6},
            **{"num_kv_heads": 3, "ffn_hidden_size": 7, "new_decoder_architecture": True},
        },
        ("FalconForCausalLM", "FalconModel"),
    ),
    computation=Computation(by_head=True),
    options={
        "one norm and one key": Computation(
            {"new_decoder_architecture": False, "multi_query": True, "parallel_attn": True}, by_head=True, groups=1
        ),
    },
)
