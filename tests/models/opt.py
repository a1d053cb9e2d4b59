"""OPT."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "opt",
    totals=(
        # transformers' classes on meta unless stated otherwise
        ("opt-125m", {}, 125_237_760 + 2 * 768),  # keras-hub's, plus two unused positions
        ("opt-350m", {}, 331_196_416),
        ("opt-6.7b", {}, 6_658_473_984),
    ),
    config=SmallConfig(
        "opt",
        {
            **{"vocab_size": 29, "max_position_embeddings": 13, "hidden_size": 12, "num_hidden_layers": 2},
            **{"num_attention_heads": 3, "ffn_dim": 7, "word_embed_proj_dim": 10},
        },
        ("OPTForCausalLM", "OPTModel"),
    ),
    computation=Computation(epsilon=1e-5),
    options={
        "norms behind": Computation({"do_layer_norm_before": False}, epsilon=1e-5),
    },
)
