"""gpt-oss."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

ROPE = {"rope_type": "default", "rope_theta": 1e4}

MODEL = ModelCase(
    "gpt-oss",
    totals=(
        ("gpt-oss-120b", {}, 116_829_156_672),  # keras-hub; the model card prints 116.83B and 20.91B
        ("gpt-oss-20b", {}, 20_914_757_184),
    ),
    config=SmallConfig(
        "gpt_oss",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 3, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 10, "sliding_window": 4},
            **{"num_local_experts": 11, "num_experts_per_tok": 5},
        },
        ("GptOssForCausalLM", "GptOssModel"),
    ),
    computation=Computation({"rope_parameters": ROPE}, route="of_chosen"),
)
