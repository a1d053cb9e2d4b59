"""LearnedBart: BartLike with learned positions, and a norm after the embeddings of each tower."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ...components import LayerNorm, PositionEmbedding
from ...language.symbols import A, B, E, H, L_dec, L_enc, P, V
from ...ledger.facts import ONE, Tensor
from ...ledger.operations import Operations
from ..base_architecture import Fields, usual
from .bart_like import FAIRSEQ, BartLike, both
from .encoder_decoder import Tower

HIDDEN, HEADS = both("ffn_dim", 4096), both("attention_heads", 16, "num_attention_heads")
SKIPPED = Integer(2)  # rows of the position table that fairseq reserves for padding


@dataclass(frozen=True, kw_only=True)
class LearnedBart(BartLike):
    """The base of BART and mBART. A subclass sets the positions of the norms in a layer."""

    config = Fields(
        usual({V: 50265, P: 1024, E: 1024, H: HIDDEN, L_enc: 12, L_dec: 12, A: HEADS}, FAIRSEQ),
        inert=(
            *("normalize_before", "normalize_embedding", "add_final_layer_norm", "static_position_embeddings"),
            *("add_bias_logits", "extra_pos_embeddings", "classif_dropout"),  # of early releases, unread
            "force_bos_token_to_be_generated",
        ),
    )

    def embed(self, ops: Operations, tower: Tower, tokens: Tensor) -> Tensor:
        table = PositionEmbedding(rows=P + SKIPPED, skipped=SKIPPED, sequences=B if tower == "encoder" else ONE)
        x = self.placed(ops, tower, super().embed(ops, tower, tokens), table)
        return self.dropped(ops, tower, ops.call(f"{tower}.layernorm_embedding", LayerNorm(), x))
