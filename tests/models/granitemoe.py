"""Granite MoE."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "granitemoe",
    totals=(
        # llmfit. 49155*1024 + 1024 + 24*(2*1024*1024 + 2*1024*512 + 32*1024 + 32*3*1024*512 + 2*1024)
        ("granite-3.1-1b-a400m-instruct", {}, 1_334_628_352),
        # llmfit. 49155*1536 + 1536 + 32*(2*1536*1536 + 2*1536*512 + 40*1536 + 40*3*1536*512 + 2*1536)
        ("granite-3.1-3b-a800m-instruct", {}, 3_298_793_472),
        # llmfit; 49152*1024 + 24*(2*1024² + 2*1024*512 + 2*1024 + 32*3*1024*512 + 32*1024) + 1024
        ("granite-3.1-1b-a400m", {}, 1_334_625_280),
        # llmfit; 49152*1536 + 32*(2*1536² + 2*1536*512 + 2*1536 + 40*3*1536*512 + 40*1536) + 1536
        ("granite-3.1-3b-a800m", {}, 3_298_788_864),
    ),
    config=SmallConfig(
        "granitemoe",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_local_experts": 11, "num_experts_per_tok": 4},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
        },
        ("GraniteMoeForCausalLM", "GraniteMoeModel"),
    ),
    computation=Computation(
        {"embedding_multiplier": 3.0, "attention_multiplier": 0.7, "residual_multiplier": 0.4, "logits_scaling": 2.5},
        factors={"": (3.0, 1 / 2.5), "self_attn": (0.7,), "layers.*": (0.4, 0.4)},
        route="of_chosen",
    ),
)
