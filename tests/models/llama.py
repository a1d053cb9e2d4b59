"""Llama."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "llama",
    totals=(
        # by hand, where keras-hub has none: 2VE + L(2E² + 2E·GD + 3EH + 2E) + E; Touvron et al. 2023, table 2, print
        # 13.0B, 32.5B and 65.2B. 2*32000*5120 + 40*(4*5120² + 3*5120*13824 + 2*5120) + 5120
        ("llama-13b", {}, 13_015_864_320),
        # 2*32000*6656 + 60*(4*6656² + 3*6656*17920 + 2*6656) + 6656
        ("llama-33b", {}, 32_528_943_616),
        # 2*32000*8192 + 80*(4*8192² + 3*8192*22016 + 2*8192) + 8192
        ("llama-65b", {}, 65_285_660_672),
        ("llama-2-7b", {}, 6_738_415_616),  # keras-hub
        ("llama-2-13b", {}, 13_015_864_320),  # as llama-13b
        # 2*32000*8192 + 80*(2*8192² + 2*8192*1024 + 3*8192*28672 + 2*8192) + 8192
        ("llama-2-70b", {}, 68_976_648_192),
        ("llama-3-8b", {}, 8_030_261_248),  # keras-hub
        # 2*128256*16384 + 126*(2*16384² + 2*16384*1024 + 3*16384*53248 + 2*16384) + 16384
        ("llama-3.1-405b", {}, 405_853_388_800),
        # 128256*2048 + 16*(2*2048² + 2*2048*512 + 3*2048*8192 + 2*2048) + 2048
        ("llama-3.2-1b", {}, 1_235_814_400),
        # 128256*3072 + 28*(2*3072² + 2*3072*1024 + 3*3072*8192 + 2*3072) + 3072
        ("llama-3.2-3b", {}, 3_212_749_824),
        # 2*32000*2048 + 22*(2*2048² + 2*2048*256 + 3*2048*5632 + 2*2048) + 2048
        ("tinyllama-1.1b", {}, 1_100_048_384),
    ),
    rows={
        "llama-2-70b": {
            "embed_tokens": 32_000 * 8_192,
            "rotary_emb": 0,
            "layers.*.input_layernorm": 8_192,
            "layers.*.self_attn.q_proj": 8_192 * 8_192,
            "layers.*.self_attn.k_proj": 8_192 * 1_024,
            "layers.*.self_attn.v_proj": 8_192 * 1_024,
            "layers.*.self_attn.o_proj": 8_192 * 8_192,
            "layers.*.post_attention_layernorm": 8_192,
            "layers.*.mlp.gate_proj": 8_192 * 28_672,
            "layers.*.mlp.act_fn": 0,
            "layers.*.mlp.up_proj": 8_192 * 28_672,
            "layers.*.mlp.down_proj": 8_192 * 28_672,
            "norm": 8_192,
            "lm_head": 32_000 * 8_192,
        },
    },
    config=SmallConfig(
        "llama",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 7},
            **{"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10},
        },
        ("LlamaForCausalLM", "LlamaModel"),
    ),
    computation=Computation(),
    options={
        "biases": Computation({"attention_bias": True, "mlp_bias": True}),
    },
)
