"""ESM-2."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "esm",
    totals=(
        # keras-hub's, plus the regression of contacts and a pooler; likewise for the next three
        ("esm2-8m", {}, 7_408_960 + 6 * 20 + 1 + 320 * 320 + 320),
        ("esm2-35m", {}, 33_269_280 + 12 * 20 + 1 + 480 * 480 + 480),
        ("esm2-150m", {}, 147_728_000 + 30 * 20 + 1 + 640 * 640 + 640),
        ("esm2-650m", {}, 649_400_320 + 33 * 20 + 1 + 1_280 * 1_280 + 1_280),
    ),
    config=SmallConfig(
        "esm",
        {
            **{"vocab_size": 29, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3},
            **{"intermediate_size": 7, "position_embedding_type": "rotary", "pad_token_id": 1, "mask_token_id": 27},
        },
        ("EsmForMaskedLM", "EsmModel"),
        inputs="encoder tokens",
    ),
    computation=Computation(
        {"token_dropout": True},
        factors={"": (0.88, 1.0)},  # 15% of the tokens are selected in training, and 80% of these are masked
        apart=("attention",),  # torch takes the norm inside
    ),
)
