"""Cohere2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "cohere2",
    totals=(
        # llmfit. 256000*4096 + 32*(2*4096² + 2*4096*1024 + 3*4096*14336 + 4096) + 4096
        ("command-r7b", {}, 8_028_033_024),
        # llmfit. 256000*12288 + 64*(2*12288² + 2*12288*1024 + 3*12288*36864 + 12288) + 12288
        ("command-a", {}, 111_057_580_032),
        # llmfit. 262144*2048 + 36*(2*2048² + 2*2048*512 + 3*2048*11008 + 2048) + 2048
        ("tiny-aya-base", {}, 3_349_227_520),
    ),
    config=SmallConfig(
        "cohere2",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 5, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "sliding_window": 4},
        },
        ("Cohere2ForCausalLM", "Cohere2Model"),
    ),
    computation=Computation({"logit_scale": 1.0}, words={"rotate": "neighbours"}),
)
