"""Cohere."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "cohere",
    totals=(
        ("command-r", {}, 34_980_831_232),  # 256000*8192 + 40*(4*8192*8192 + 3*8192*22528 + 8192) + 8192
        # 256000*12288 + 64*(2*12288*12288 + 2*12288*1024 + 3*12288*33792 + 12288 + 96*128 + 8*128) + 12288
        ("command-r-plus", {}, 103_810_674_688),
    ),
    config=SmallConfig(
        "cohere",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3},
        },
        ("CohereForCausalLM", "CohereModel"),
    ),
    computation=Computation({"logit_scale": 1.0}, words={"rotate": "neighbours"}),
    options={
        "norms of every head": Computation({"use_qk_norm": True, "logit_scale": 1.0}, words={"rotate": "neighbours"}),
    },
)
