"""T5."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "t5",
    totals=(
        ("t5-small", {}, 60_506_624),  # keras-hub; likewise for the next two
        ("t5-base", {}, 222_903_552),
        ("t5-large", {}, 737_668_096),
        ("t5-3b", {}, 2_851_598_336),  # T5ForConditionalGeneration on meta; likewise for the next
        ("t5-11b", {}, 11_307_321_344),
        # keras-hub's, the first three for Flan-T5: the sizes of v1.1, with an untied head
        ("t5-v1.1-small", {}, 76_961_152),
        ("t5-v1.1-base", {}, 247_577_856),
        ("t5-v1.1-large", {}, 783_150_080),
        ("t5-v1.1-xl", {}, 2_849_757_184),
        ("t5-v1.1-xxl", {}, 11_135_332_352),
        ("byt5-small", {}, 299_637_760),  # the class on meta, with a head of its own; likewise for the next
        ("byt5-base", {}, 581_653_248),
        # 28 fewer rows than T5
        ("codet5-small", {}, 60_506_624 - 28 * 512),
        ("codet5-base", {}, 222_903_552 - 28 * 768),
        ("codet5-large", {}, 737_668_096 - 28 * 1_024),
        ("t5-v1.1-xl", {"tied": True}, 2_849_757_184 - 32_128 * 2_048),
    ),
    config=SmallConfig(
        "t5",
        {
            **{"vocab_size": 29, "d_model": 24, "d_ff": 7, "d_kv": 4, "num_heads": 3, "num_layers": 1},
            **{"num_decoder_layers": 2, "relative_attention_num_buckets": 14},
        },
        ("T5ForConditionalGeneration", "T5Model"),
        inputs="source and target",
    ),
    computation=Computation(),
    options={
        "gated T5": Computation({"feed_forward_proj": "gated-gelu"}),
    },
)
