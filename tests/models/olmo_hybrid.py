"""OLMo Hybrid."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "olmo-hybrid",
    totals=(
        # llmfit. 2*100352*3840 + 3840 + 32*(3*3840*11008 + 2*3840)
        # + 24*(3840*(2*30*96 + 3*30*192 + 2*30) + 4*(2*30*96 + 30*192) + 2*30 + 192) + 8*(4*3840*3840 + 2*3840)
        ("olmo-hybrid-7b", {}, 7_430_870_688),
    ),
    config=SmallConfig(
        "olmo_hybrid",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 5, "intermediate_size": 7},
            "layer_types": ["linear_attention", "full_attention", *["linear_attention"] * 2, "full_attention"],
            **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 20, "pad_token_id": None},
            "rms_norm_eps": 1e-5,  # as that of the norm inside Gated DeltaNet, which is not a field
            **{"linear_num_key_heads": 3, "linear_num_value_heads": 12, "linear_key_head_dim": 16},
            **{"linear_value_head_dim": 14, "linear_conv_kernel_dim": 4},
        },
        ("OlmoHybridForCausalLM", "OlmoHybridModel"),
    ),
    computation=Computation(factors={"linear_attn": (2.0,)}),
    options={
        "olmo hybrid without positions": Computation({"rope_theta": None}, factors={"linear_attn": (2.0,)}),
        "olmo hybrid with strengths below 1": Computation({"linear_allow_neg_eigval": False}),
    },
)
