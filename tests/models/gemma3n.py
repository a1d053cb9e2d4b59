"""Gemma 3n."""

from __future__ import annotations

from typing import Any

from . import Computation, ModelCase, SmallConfig

ROPES = {
    "full_attention": {"rope_type": "default", "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
}
LOCAL, GLOBAL = "sliding_attention", "full_attention"
KINDS = [LOCAL, LOCAL, GLOBAL, LOCAL, GLOBAL]

# The factors of constants, in order: the rows and the projections of the embeddings per layer, and their sum; in each
# layer, the router's input before and after the layer, and the sum of attention and the learned residual.
FACTORS = {"": (13**0.5, 24**-0.5, 2**-0.5)}
FACTORS |= {
    f"{kind}_layers.*": (1 / 24, 2**-0.5, 1 / 24) for kind in ("local", "global", "local_reusing", "global_reusing")
}
APART = ("embed_tokens", *(f"altup_{name}projections.{place}" for name in ("", "unembed_") for place in (0, 1)))
USUAL: dict[str, Any] = {
    **{"cap": 30.0, "apart": APART, "factors": FACTORS},
    "words": {
        **{"first_stream": "first_stream", "others_stream": "other_streams", "mix_stream": "mixed_streams"},
        **{"streams": "joined_streams", "mean_stream": "mean_of_streams", "magnitude": "magnitude"},
        "gaussian_topk": "gaussian_top_k",
    },
}

MODEL = ModelCase(
    "gemma3n",
    totals=(
        # on meta; by hand 262400*2048 + 262144*30*256 + 30*256*2048 + 256 + 2*3*2048*2048 + 2048
        # + 30*(2*2048*2048 + 256 + 3*2048*8192 + 2*64*2048 + 2*2048*256 + 4*2048 + 4*4*4 + 4*4 + 8*2048)
        # + 20*(2*2048*512 + 256); published 5_439_438_272 in total, with 10*(2*2048*512 + 256) unused weights and
        # 983_281_504 of the towers for images and sound
        ("gemma-3n-e2b-text", {}, 4_435_182_688),
        # on meta; by hand the same with 35 layers of 16384; published 7_849_978_192 in total, with
        # 15*(2*2048*512 + 256) unused weights and the same towers
        ("gemma-3n-e4b-text", {}, 6_835_235_568),
    ),
    config=SmallConfig(
        "gemma3n_text",
        {
            **{"vocab_size": 29, "vocab_size_per_layer_input": 31, "hidden_size": 24, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 10, "sliding_window": 4},
            **{"num_hidden_layers": 11, "layer_types": [GLOBAL, *2 * KINDS]},
            **{"num_kv_shared_layers": 4, "activation_sparsity_pattern": [0.95, 0.5, *[0.0] * 8, 0.5]},
            **{"hidden_size_per_layer_input": 13, "laurel_rank": 5, "altup_num_inputs": 3},
        },
        ("Gemma3nForCausalLM", "Gemma3nTextModel"),
    ),
    computation=Computation({"rope_parameters": ROPES, "activation_sparsity_pattern": [0.0] * 11}, **USUAL),
    options={
        "gemma 3n with sparse activations": Computation(
            {"rope_parameters": ROPES, "activation_sparsity_pattern": [0.8] * 11, "num_kv_shared_layers": 0}, **USUAL
        ),
    },
)
