"""T5Gemma."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "t5gemma",
    totals=(
        # llmfit. 2*256000*512 + 2*512 + 8*(2*(4*512*8*64 + 3*512*1024) + 4*512*8*64 + 10*512)
        ("t5gemma-s-s", {}, 312_517_632),
        # llmfit. 2*256000*768 + 2*768 + 12*(2*(4*768*12*64 + 3*768*2048) + 4*768*12*64 + 10*768)
        ("t5gemma-b-b", {}, 591_490_560),
        # The Hugging Face hub. 2*256000*1152 + 2*1152 + 26*(2*(4*1152*4*256 + 3*1152*6912) + 4*1152*4*256 + 10*1152)
        ("t5gemma-ml-ml", {}, 2_200_345_344),
        # llmfit. 2*256000*2048 + 2*2048 + 24*(2*(4*2048*32*64 + 3*2048*5120) + 4*2048*32*64 + 10*2048)
        ("t5gemma-xl-xl", {}, 3_766_980_608),
        # llmfit; 2*256000*2304 + 2*2304 + 26*(3*(2*2304*8*256 + 2*2304*4*256) + 2*3*2304*9216 + 10*2304)
        ("t5gemma-2b-2b", {}, 5_596_853_760),
        # The Hugging Face hub. 256000*(3584 + 2304) + 3584 + 2304
        # + 42*(2*3584*16*256 + 2*3584*8*256 + 3*3584*14336 + 4*3584)
        # + 26*(4*2304*8*256 + 2*2304*4*256 + 2*3584*4*256 + 3*2304*9216 + 6*2304)
        ("t5gemma-9b-2b", {}, 12_292_375_296),
        # llmfit. 2*256000*3584 + 2*3584 + 42*(3*(2*3584*16*256 + 2*3584*8*256) + 2*3*3584*14336 + 10*3584)
        ("t5gemma-9b-9b", {}, 20_333_401_088),
        ("t5gemma-2b-2b", {"tied": False}, 5_596_853_760 + 256_000 * 2_304),
    ),
    config=SmallConfig(
        "t5gemma",
        {
            **{"encoder.vocab_size": 29, "encoder.hidden_size": 32, "encoder.num_hidden_layers": 2},
            **{"encoder.intermediate_size": 11, "encoder.num_attention_heads": 8, "encoder.num_key_value_heads": 4},
            **{"encoder.head_dim": 14, "encoder.sliding_window": 5},
            **{"decoder.vocab_size": 29, "decoder.hidden_size": 24, "decoder.num_hidden_layers": 3},
            **{"decoder.intermediate_size": 7, "decoder.num_attention_heads": 6, "decoder.num_key_value_heads": 2},
            **{"decoder.head_dim": 10, "decoder.sliding_window": 4},
        },
        ("T5GemmaForConditionalGeneration", "T5GemmaModel"),
        inputs="source and target",
    ),
    computation=Computation(
        {
            f"{tower}.{name}": value
            for tower in ("encoder", "decoder")
            for name, value in {
                **{"query_pre_attn_scalar": 13, "attn_logit_softcapping": 7.0, "final_logit_softcapping": 7.0},
            }.items()
        },
        cap=7.0,
        epsilon=1e-6,
        factors={"self_attn": (13**-0.5,), "cross_attn": (13**-0.5,)},
    ),
)
