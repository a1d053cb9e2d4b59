"""Solar Open."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "solar-open",
    totals=(
        # llmfit; 2*196608*4096 + 48*(2*4096*8192 + 2*4096*1024 + 129*3*4096*1280 + 128*4096 + 2*4096) + 4096
        ("solar-open-100b", {}, 102_651_793_408),
    ),
    config=SmallConfig(
        "solar_open",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
            **{"moe_intermediate_size": 11, "n_routed_experts": 20, "n_shared_experts": 2, "num_experts_per_tok": 4},
            **{"n_group": 2, "topk_group": 1, "routed_scaling_factor": 2.5},
        },
        ("SolarOpenForCausalLM", "SolarOpenModel"),
    ),
    computation=Computation(route="of_groups"),
)
