"""ELECTRA."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

MODEL = ModelCase(
    "electra",
    totals=(
        # by hand: (30522 + 512 + 2 + 2)*128 + (128 + 1)*256 + 12*(4*256*256 + 2*256*1024 + 9*256 + 1024)
        ("electra-small", {}, 13_483_008),  # keras-hub's 13,548,800, without its pooler of 256*256 + 256
        ("electra-base", {}, 108_891_648),  # keras-hub's 109,482,240 for BERT, without its pooler of 768*768 + 768
        ("electra-large", {}, 335_141_888 - 1_024 * 1_024 - 1_024),  # keras-hub's, without its pooler
    ),
    config=SmallConfig(
        "electra",
        {
            **{"vocab_size": 29, "max_position_embeddings": 13, "embedding_size": 10, "hidden_size": 12},
            **{"num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 7, "type_vocab_size": 4},
        },
        ("ElectraForMaskedLM", "ElectraModel", "ElectraForPreTraining"),
        inputs="encoder tokens",
    ),
    computation=Computation(apart=("attention",)),  # torch takes the norm inside
)
