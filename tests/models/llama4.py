"""Llama 4."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

FACTORS = {"floor_scale": 3, "attn_scale": 0.7}  # the factor of a query at position p: 1 + 0.7·ln(1 + ⌊(p + 1)/3⌋)

MODEL = ModelCase(
    "llama4",
    totals=(
        # on meta; by hand 2*202048*5120 + 5120 + 48*(2*5120*5120 + 2*5120*1024 + 2*5120 + 17*3*5120*8192 + 16*5120).
        # Meta prints 109B with the vision encoder
        ("llama-4-scout-text", {}, 107_769_861_120),
        # on meta; by hand 2*202048*5120 + 5120 + 48*(2*5120*5120 + 2*5120*1024 + 2*5120) + 24*3*5120*16384
        # + 24*(129*3*5120*8192 + 128*5120). Meta prints 400B
        ("llama-4-maverick-text", {}, 400_711_848_960),
    ),
    config=SmallConfig(
        "llama4_text",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 4},
            **{"intermediate_size": 7, "intermediate_size_mlp": 13, "attention_chunk_size": 5, "pad_token_id": 0},
            **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 10},
            **{"num_local_experts": 11, "num_experts_per_tok": 3},
        },
        ("Llama4ForCausalLM", "Llama4TextModel"),
    ),
    computation=Computation(FACTORS, words={"rotate": "neighbours"}, route="sigmoids_of_chosen"),
    options={
        "llama 4 with dense layers": Computation(
            {**FACTORS, "interleave_moe_layer_step": 2},
            words={"rotate": "neighbours"},
            route="sigmoids_of_chosen",
        )
    },
)
