"""CodeGen."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "codegen",
    totals=(
        # CodeGenForCausalLM on meta
        ("codegen-350m", {}, 356_712_448),
        # 2*51200*2560 + 51200 + 2*2560 + 32*(12*2560² + 7*2560)
        ("codegen-2b", {}, 2_779_356_160),
    ),
    config=SmallConfig(
        "codegen",
        {"vocab_size": 29, "n_embd": 48, "n_layer": 2, "n_head": 4, "n_inner": 7, "rotary_dim": 6},
        ("CodeGenForCausalLM", "CodeGenModel"),
    ),
    computation=Computation(words={"rotate": "neighbours"}),
)
