"""RecurrentGemma."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "recurrent-gemma",
    totals=(
        # llmfit. 256000*2560 + 2560 + 26*(3*2560*7680 + 2*7680 + 3*2560)
        # + 18*(3*2560*2560 + 4*2560 + 2*10*256*256 + 6*2560 + 2560) + 8*(2*2560*2560 + 2*2560*256 + 2560)
        ("recurrentgemma-2b", {}, 2_682_862_080),
        # llmfit, for google/recurrentgemma-9b-it, whose checkpoint also stores the head, 256000*4096
        ("recurrentgemma-9b", {"tied": False}, 9_628_553_216),
        ("recurrentgemma-9b", {}, 9_628_553_216 - 256_000 * 4_096),
    ),
    config=SmallConfig(
        "recurrent_gemma",
        {
            **{"vocab_size": 29, "hidden_size": 36, "num_hidden_layers": 5, "intermediate_size": 14, "lru_width": 18},
            **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 20, "partial_rotary_factor": 0.4},
            **{"conv1d_width": 4, "attention_window_size": 11, "block_types": ["recurrent", "attention", "recurrent"]},
        },
        ("RecurrentGemmaForCausalLM", "RecurrentGemmaModel"),
    ),
    computation=Computation(cap=30.0),
)
