"""Granite 4 hybrid."""

from __future__ import annotations

from collections.abc import Mapping

from . import Computation, ModelCase, SmallConfig

# embeddings, scores, sublayers and logits
FACTORS = {"embedding_multiplier": 3.0, "attention_multiplier": 0.4, "residual_multiplier": 0.6, "logits_scaling": 5.0}

BY_PART: Mapping[str, tuple[float, ...]] = {
    "": (3.0, 1 / 5),
    "self_attn": (0.4,),
    "ssm_layers.*": (0.6, 0.6),
    "attention_layers.*": (0.6, 0.6),
}
LAYERS = ("linear_attention", "full_attention", "linear_attention", "linear_attention")

MODEL = ModelCase(
    "granitemoehybrid",
    totals=(
        # llmfit. 100352*2048 + 2048 + 36*(2048*(2*4096 + 2*128 + 64) + 5*(4096 + 2*128) + 3*64 + 4096 + 4096*2048)
        # + 4*(2*2048*2048 + 2*2048*512) + 40*(3*2048*8192 + 2*2048)
        ("granite-4.0-h-micro", {}, 3_191_396_096),
        # llmfit. The same with 64 experts: 100352*1536 + 1536
        # + 36*(1536*(2*3072 + 2*128 + 48) + 5*(3072 + 2*128) + 3*48 + 3072 + 3072*1536)
        # + 4*(2*1536*1536 + 2*1536*512) + 40*(3*1536*1024 + 64*1536 + 64*3*1536*512 + 2*1536)
        ("granite-4.0-h-tiny", {}, 6_939_037_248),
    ),
    config=SmallConfig(
        "granitemoehybrid",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 5, "shared_intermediate_size": 7},
            **{"intermediate_size": 13, "num_local_experts": 10, "num_experts_per_tok": 3},
            "layer_types": [*LAYERS, "full_attention"],
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 20},
            **{"mamba_n_heads": 8, "mamba_d_head": 9, "mamba_expand": 3, "mamba_n_groups": 2, "mamba_d_state": 17},
            **{"mamba_d_conv": 4, "mamba_chunk_size": 11},
        },
        ("GraniteMoeHybridForCausalLM", "GraniteMoeHybridModel"),
    ),
    computation=Computation(FACTORS, factors=BY_PART, route="of_chosen"),
    options={
        "granite 4 with rotary positions": Computation(
            {**FACTORS, "position_embedding_type": "rope"}, factors=BY_PART, route="of_chosen"
        ),
        "granite 4 without experts": Computation(
            {**FACTORS, "num_local_experts": 0, "num_experts_per_tok": 0}, factors=BY_PART
        ),
    },
)
