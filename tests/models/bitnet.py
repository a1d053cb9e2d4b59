"""BitNet."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "bitnet",
    totals=(
        # llmfit; 128256*2560 + 30*(2*2560² + 2*2560*640 + 3*2560*6912 + 3*2560 + 6912) + 2560
        ("bitnet-b1.58-2b-4t", {}, 2_412_820_480),
    ),
    config=SmallConfig(
        "bitnet",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3},
        },
        ("BitNetForCausalLM", "BitNetModel"),
    ),
    computation=Computation(),
)
