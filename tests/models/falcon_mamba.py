"""Falcon Mamba."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "falcon-mamba",
    totals=(
        # llmfit. 2*65024*4096 + 4096 + 64*(4096 + 2*4096*8192 + 5*8192 + 8192*(256 + 2*16) + 257*8192 + 17*8192
        # + 8192*4096)
        ("falcon-mamba-7b", {}, 7_272_665_088),
    ),
    config=SmallConfig(
        "falcon_mamba",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "expand": 3, "state_size": 7},
            **{"conv_kernel": 6, "time_step_rank": 11},
        },
        ("FalconMambaForCausalLM", "FalconMambaModel"),
    ),
    computation=Computation({"mixer_rms_eps": 1e-5}),
)
