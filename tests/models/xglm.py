"""XGLM."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "xglm",
    totals=(
        ("xglm-4.5b", {}, 5_076_815_872 - 256_008 * 2_048),  # llmfit; the file has a copy of the token table
        ("xglm-564m", {}, 564_463_616),  # XGLMForCausalLM on meta; likewise for the next three
        ("xglm-1.7b", {}, 1_732_907_008),
        ("xglm-2.9b", {}, 2_941_505_536),
        ("xglm-7.5b", {}, 7_492_771_840),
    ),
    config=SmallConfig(
        "xglm",
        {
            **{"vocab_size": 29, "d_model": 12, "num_layers": 2, "attention_heads": 3, "ffn_dim": 7},
        },
        ("XGLMForCausalLM", "XGLMModel"),
    ),
    computation=Computation(apart=("embed_tokens",)),  # torch scales inside
)
