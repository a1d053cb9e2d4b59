"""GPT-2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "gpt2",
    totals=(
        ("gpt2", {}, 124_439_808),  # sum of numel of openai-community/gpt2; likewise for the next three
        ("gpt2-medium", {}, 354_823_168),
        ("gpt2-large", {}, 774_030_080),
        ("gpt2-xl", {}, 1_557_611_200),
        ("gpt2", {"tied": False}, 124_439_808 + 50_257 * 768),
    ),
    rows={
        "gpt2": {
            "wte": 50_257 * 768,
            "wpe": 1_024 * 768,
            "drop": 0,
            "h.*.ln_1": 2 * 768,
            "h.*.attn.c_attn": 768 * 2_304 + 2_304,
            "h.*.attn.attn_dropout": 0,
            "h.*.attn.c_proj": 768 * 768 + 768,
            "h.*.attn.resid_dropout": 0,
            "h.*.ln_2": 2 * 768,
            "h.*.mlp.c_fc": 768 * 3_072 + 3_072,
            "h.*.mlp.act": 0,
            "h.*.mlp.c_proj": 3_072 * 768 + 768,
            "h.*.mlp.dropout": 0,
            "ln_f": 2 * 768,
            "lm_head": 0,
        },
    },
    config=SmallConfig(
        "gpt2",
        {"vocab_size": 29, "n_positions": 13, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_inner": 7},
        ("GPT2LMHeadModel", "GPT2Model"),
    ),
    computation=Computation(),
)
