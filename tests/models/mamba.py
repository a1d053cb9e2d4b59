"""Mamba."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "mamba",
    totals=(
        ("mamba-130m", {}, 129_135_360),  # MambaForCausalLM on meta; likewise for the next
        ("mamba-2.8b", {}, 2_768_345_600),
    ),
    config=SmallConfig(
        "mamba",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "expand": 3, "state_size": 7},
            **{"conv_kernel": 6, "time_step_rank": 11},
        },
        ("MambaForCausalLM", "MambaModel"),
    ),
    computation=Computation(),
)
