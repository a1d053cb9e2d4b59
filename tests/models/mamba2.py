"""Mamba-2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "mamba2",
    totals=(
        # Mistral's announcement of Codestral Mamba
        ("mamba-codestral-7b", {}, 7_285_403_648),
        # 50288*2560 + 2560 + 64*(2560 + 2560*(5120 + 5376 + 80) + 5*5376 + 3*80 + 5120 + 5120*2560)
        ("mamba2-2.7b", {}, 2_702_599_680),
    ),
    config=SmallConfig(
        "mamba2",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "expand": 3, "state_size": 7},
            **{"num_heads": 6, "head_dim": 12, "n_groups": 2, "conv_kernel": 4, "chunk_size": 3},
        },
        ("Mamba2ForCausalLM", "Mamba2Model"),
    ),
    computation=Computation(),
)
