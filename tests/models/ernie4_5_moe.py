"""ERNIE 4.5 with experts."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "ernie4-5-moe",
    totals=(
        # llmfit; 103424*2560 + 28*(2*2560² + 2*2560*512 + 2*2560) + 3*2560*12288
        # + 27*(66*3*2560*1536 + 64*2560 + 64) + 2560
        ("ernie-4.5-21b-a3b", {}, 21_825_437_888),
        # llmfit; 2*103424*8192 + 54*(2*8192² + 2*8192*1024 + 2*8192) + 3*3*8192*28672
        # + 51*(64*3*8192*3584 + 64*8192 + 64) + 8192
        ("ernie-4.5-300b-a47b", {}, 299_484_163_264),
    ),
    config=SmallConfig(
        "ernie4_5_moe",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "moe_layer_start_index": 1},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "intermediate_size": 7},
            **{"moe_intermediate_size": 11, "moe_num_experts": 20, "moe_num_shared_experts": 2, "moe_k": 4},
        },
        ("Ernie4_5_MoeForCausalLM", "Ernie4_5_MoeModel"),
    ),
    computation=Computation(words={"rotate": "neighbours"}, route="shares_of_all"),
    options={
        "ernie without shared experts": Computation(
            {"moe_num_shared_experts": 0}, words={"rotate": "neighbours"}, route="shares_of_all"
        )
    },
)
