"""Arcee."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "arcee",
    totals=(
        # llmfit; 2*128005*2560 + 36*(2*2560² + 2*2560*512 + 2*2560*18432 + 2*2560) + 2560
        ("afm-4.5b", {}, 4_619_189_760),
        # llmfit; 2*128004*2560 + 36*(2*2560² + 2*2560*512 + 2*2560*18432 + 2*2560) + 2560
        ("afm-4.5b-base", {}, 4_619_184_640),
    ),
    rows={
        "afm-4.5b": {
            "embed_tokens": 128_005 * 2_560,
            "rotary_emb": 0,
            "layers.*.input_layernorm": 2_560,
            "layers.*.self_attn.q_proj": 2_560 * 2_560,
            "layers.*.self_attn.k_proj": 2_560 * 512,
            "layers.*.self_attn.v_proj": 2_560 * 512,
            "layers.*.self_attn.o_proj": 2_560 * 2_560,
            "layers.*.post_attention_layernorm": 2_560,
            "layers.*.mlp.up_proj": 2_560 * 18_432,
            "layers.*.mlp.act_fn": 0,
            "layers.*.mlp.down_proj": 2_560 * 18_432,
            "norm": 2_560,
            "lm_head": 128_005 * 2_560,
        },
    },
    config=SmallConfig(
        "arcee",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
        },
        ("ArceeForCausalLM", "ArceeModel"),
    ),
    computation=Computation(),
    options={
        "biases": Computation({"attention_bias": True, "mlp_bias": True}),
    },
)
