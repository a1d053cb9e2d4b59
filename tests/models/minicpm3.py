"""MiniCPM3."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "minicpm3",
    totals=(
        # on meta; by hand 73448*2560 + 2560 and, in 62 layers, 2560*768 + 768 + 768*40*96 + 2560*288 + 256 + 256*40*128
        # + 40*64*2560 + 3*2560*6400 + 2*2560; OpenBMB prints 4B
        ("minicpm3-4b", {}, 188_026_880 + 2560 + 62 * 62_674_944),
    ),
    config=SmallConfig(
        "minicpm3",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 6},
            **{"q_lora_rank": 19, "kv_lora_rank": 14, "qk_nope_head_dim": 10, "qk_rope_head_dim": 8, "v_head_dim": 13},
        },
        ("MiniCPM3ForCausalLM", "MiniCPM3Model"),
    ),
    # the factor of a sublayer is scale_depth / √L, and that of the input of the head dim_model_base / E
    computation=Computation(
        {"scale_emb": 3.0, "scale_depth": 1.4, "dim_model_base": 8, "rms_norm_eps": 1e-6},
        factors={"": (3.0, 8 / 24), "layers.*": (1.4 / 2**0.5, 1.4 / 2**0.5)},
        apart=("embed_tokens",),  # it returns scaled embeddings
    ),
)
