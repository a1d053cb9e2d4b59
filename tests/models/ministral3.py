"""Ministral 3."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

# The factor of a query at position p is 1 + 0.7·ln(1 + ⌊p/3⌋).
ROPE = {
    **{"rope_type": "yarn", "rope_theta": 1e4, "factor": 1.0, "original_max_position_embeddings": 3},
    **{"llama_4_scaling_beta": 0.7, "beta_fast": 32.0, "beta_slow": 1.0},
}

MODEL = ModelCase(
    "ministral3",
    totals=(
        # with the vision encoder of 407,500,800 and a projector 1024*3072 + 3072², llmfit prints 3,849,090,048;
        # 131072*3072 + 26*(2*3072*4096 + 2*3072*1024 + 3*3072*9216 + 2*3072) + 3072
        ("ministral-3-3b-text", {}, 3_429_006_336),
        # with the same encoder and a projector 1024*4096 + 4096², llmfit prints 8,918,026,240;
        # 2*131072*4096 + 34*(2*4096² + 2*4096*1024 + 3*4096*14336 + 2*4096) + 4096
        ("ministral-3-8b-text", {}, 8_489_553_920),
        # 2*131072*5120 + 40*(2*5120*4096 + 2*5120*1024 + 3*5120*16384 + 2*5120) + 5120; llmfit, for a fine-tuned model
        ("ministral-3-14b-text", {}, 13_506_073_600),
    ),
    config=SmallConfig(
        "ministral3",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "pad_token_id": 0},
        },
        ("Ministral3ForCausalLM", "Ministral3Model"),
    ),
    computation=Computation({"rope_parameters": ROPE}),
)
