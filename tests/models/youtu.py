"""Youtu-LLM."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "youtu",
    totals=(
        # llmfit; 128256*2048 + 2048 and, in 32 layers, 2048*1536 + 1536 + 1536*16*192 + 2048*576 + 512 + 512*16*256
        # + 16*128*2048 + 3*2048*6144 + 2*2048
        ("youtu-llm-2b", {}, 1_961_560_064),
    ),
    config=SmallConfig(
        "youtu",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 6},
            **{"q_lora_rank": 19, "kv_lora_rank": 14, "qk_nope_head_dim": 10, "qk_rope_head_dim": 4, "v_head_dim": 13},
        },
        ("YoutuForCausalLM", "YoutuModel"),
    ),
    computation=Computation({"rms_norm_eps": 1e-6}, words={"rotate": "neighbours"}),
)
