"""BART."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..components import Component, LayerNorm, PositionEmbedding, PostNormBlock
from ..language.symbols import A, B, E, H, L_dec, L_enc, P, V
from ..ledger.facts import ONE, Tensor
from ..ledger.operations import Operations
from .base_architecture import Fields, WitnessSpec, usual
from .bases.bart_like import FAIRSEQ, BartLike, both
from .bases.encoder_decoder import Tower

HIDDEN, HEADS = both("ffn_dim", 4096), both("attention_heads", 16, "num_attention_heads")
SKIPPED = Integer(2)  # rows of the position table that fairseq reserves for padding


@dataclass(frozen=True, kw_only=True)
class BART(BartLike):
    """BART, Lewis et al. 2020 [lewis2020], section 2.1: a post-norm encoder-decoder with learned positions.

    Each tower has a norm after its embeddings and none after its last layer. Both towers have the same width and number
    of heads.

    >>> BART().params  # doctest: +NORMALIZE_WHITESPACE
    4*L_enc*E**2 + 2*L_enc*E*H + 8*L_dec*E**2 + 2*L_dec*E*H + 9*L_enc*E + L_enc*H + 15*L_dec*E + L_dec*H + V*E + 2*P*E
    + 8*E
    """

    title = "BART"
    config = Fields(
        usual({V: 50265, P: 1024, E: 1024, H: HIDDEN, L_enc: 12, L_dec: 12, A: HEADS}, FAIRSEQ),
        inert=(
            *("normalize_before", "normalize_embedding", "add_final_layer_norm", "static_position_embeddings"),
            *("add_bias_logits", "extra_pos_embeddings", "classif_dropout"),  # of early releases, unread
            "force_bos_token_to_be_generated",
        ),
    )
    witness = WitnessSpec("Bart")

    def layer(self, tower: Tower) -> Component:
        parts: dict[str, Component] = {}
        for norm, name, sublayer in self.sublayers(tower):
            parts |= {name: sublayer, norm: LayerNorm()}
        return PostNormBlock(parts=parts, dropouts=("dropout",) * (len(parts) // 2) if self.dropout else ())

    def embed(self, ops: Operations, tower: Tower, tokens: Tensor) -> Tensor:
        table = PositionEmbedding(rows=P + SKIPPED, skipped=SKIPPED, sequences=B if tower == "encoder" else ONE)
        x = self.placed(ops, tower, super().embed(ops, tower, tokens), table)
        return self.dropped(ops, tower, ops.call(f"{tower}.layernorm_embedding", LayerNorm(), x))
