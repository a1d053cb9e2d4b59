"""Zamba2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "zamba2",
    totals=(
        # llmfit. 32000*2048 + 2048
        # + 38*(2048 + 2048*(2*4096 + 2*128 + 64) + 5*(4096 + 2*128) + 3*64 + 4096 + 4096*2048)
        # + (4096 + 3*4096*4096 + 4096*2048 + 2048 + 3*2048*8192)
        # + 6*(2048*2048 + 128*(2048 + 2*8192) + 3*128*(4096 + 4096))
        ("zamba2-1.2b", {}, 1_215_064_704),
        # llmfit. 32000*2560 + 2560 + 54*(2560 + 2560*(2*5120 + 2*64 + 80) + 5*(5120 + 2*64) + 3*80 + 5120 + 5120*2560)
        # + 2*(5120 + 3*5120*5120 + 5120*2560 + 2560 + 3*2560*10240) + 9*(2560*2560 + 128*(2560 + 2*10240))
        ("zamba2-2.7b", {}, 2_662_214_560),
    ),
    config=SmallConfig(
        "zamba2",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 5, "intermediate_size": 7},
            "layers_block_type": ["linear_attention", "hybrid", "linear_attention", "hybrid", "hybrid"],
            **{"num_attention_heads": 6, "num_mem_blocks": 2, "adapter_rank": 13, "n_mamba_heads": 9},
            **{"mamba_expand": 3, "mamba_ngroups": 3, "mamba_d_state": 17, "mamba_d_conv": 4, "chunk_size": 11},
        },
        ("Zamba2ForCausalLM", "Zamba2Model"),
    ),
    computation=Computation(factors={"self_attn": (0.5,)}),
    options={
        "zamba2 with rotary positions and adapters of attention": Computation(
            {"use_mem_rope": True, "use_shared_attention_adapter": True}, factors={"self_attn": (0.5,)}
        )
    },
)
