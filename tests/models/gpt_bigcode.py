"""GPT-BigCode."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "gpt-bigcode",
    totals=(
        ("santacoder", {}, 1_124_886_528),  # llmfit; likewise for the next three
        ("starcoderbase-1b", {}, 1_137_207_296),
        ("tiny_starcoder_py", {}, 164_144_128),
        ("starcoder", {"tied": True}, 15_819_446_272 - 49_152 * 6_144),  # the file has a copy of the token table
    ),
    config=SmallConfig(
        "gpt_bigcode",
        {
            **{"vocab_size": 29, "n_positions": 13, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_inner": 7},
        },
        ("GPTBigCodeForCausalLM", "GPTBigCodeModel"),
    ),
    computation=Computation(),
    options={"multi-head GPT-BigCode": Computation({"multi_query": False}, by_head=True)},
)
