"""GPT-NeoX."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "gpt-neox",
    totals=(
        ("gpt-neox-20b", {}, 20_554_567_680),  # the model card of EleutherAI/gpt-neox-20b
        (
            "pythia-70m",
            {},
            18_915_328 + 2 * 50_304 * 512,
        ),  # Biderman et al. 2023, table 1: without the two tables, as is
        ("pythia-410m", {}, 302_311_424 + 2 * 50_304 * 1_024),  # each of the next four
        ("pythia-1b", {}, 805_736_448 + 2 * 50_304 * 2_048),
        ("pythia-6.9b", {}, 6_444_163_072 + 2 * 50_432 * 4_096),
        ("pythia-12b", {}, 11_327_027_200 + 2 * 50_688 * 5_120),
    ),
    config=SmallConfig(
        "gpt_neox",
        {
            **{"vocab_size": 29, "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 3},
            **{"intermediate_size": 7},
        },
        ("GPTNeoXForCausalLM", "GPTNeoXModel"),
    ),
    computation=Computation(by_head=True),
    options={
        "one after the other": Computation({"use_parallel_residual": False}, by_head=True),
    },
)
