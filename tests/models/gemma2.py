"""Gemma 2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "gemma2",
    totals=(
        # by hand: 256000*2304 + 26*(2*2304*2048 + 2*2304*1024 + 3*2304*9216 + 4*2304) + 2304
        ("gemma-2-2b", {}, 2_614_341_888),
        # 256000*3584 + 42*(2*3584*4096 + 2*3584*2048 + 3*3584*14336 + 4*3584) + 3584
        ("gemma-2-9b", {}, 9_241_705_984),
        # 256000*4608 + 46*(2*4608*4096 + 2*4608*2048 + 3*4608*36864 + 4*4608) + 4608
        ("gemma-2-27b", {}, 27_227_128_320),
    ),
    config=SmallConfig(
        "gemma2",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 3, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 10, "sliding_window": 4},
        },
        ("Gemma2ForCausalLM", "Gemma2Model"),
    ),
    computation=Computation(
        {"query_pre_attn_scalar": 13, "attn_logit_softcapping": 7.0, "final_logit_softcapping": 7.0},
        cap=7.0,
        factors={"self_attn": (13**-0.5,)},
        apart=("embed_tokens",),  # torch takes the root inside
    ),
)
