"""BART."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Integer

from ..components import (
    MLP,
    Component,
    CrossAttention,
    Dropout,
    LayerNorm,
    PositionEmbedding,
    PostNormBlock,
    SelfAttention,
)
from ..language.sizes import Divides
from ..language.symbols import A, B, E, H, L_dec, L_enc, P, V
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from .base import Chance, Field, Fields, Function, Witness, option
from .bases.encoder_decoder import EncoderDecoder, Tower

SKIPPED = Integer(2)  # rows of a table of positions that fairseq kept for the padding's number


@dataclass(frozen=True, kw_only=True)
class BART(EncoderDecoder):
    """BART, Lewis et al. 2020 [lewis2020], section 2.1: a post-norm encoder-decoder with learned positions.

    A norm follows the embeddings of each tower, and none its last layer. Both towers have one width and as many heads.

    >>> BART().params  # doctest: +NORMALIZE_WHITESPACE
    4*L_enc*E**2 + 2*L_enc*E*H + 8*L_dec*E**2 + 2*L_dec*E*H + 9*L_enc*E + L_enc*H + 15*L_dec*E + L_dec*H + V*E + 2*P*E
    + 8*E
    """

    title = "BART"
    constraints = (Divides(A, E),)

    config = Fields(
        {
            V: Field(("vocab_size",), 50265),
            P: Field(("max_position_embeddings",), 1024),
            E: Field(("d_model", "hidden_size"), 1024),
            H: Field(("encoder_ffn_dim",), 4096, twins=("decoder_ffn_dim",)),
            L_enc: Field(("encoder_layers", "num_hidden_layers"), 12),
            L_dec: Field(("decoder_layers",), 12),
            A: Field(("encoder_attention_heads", "num_attention_heads"), 16, twins=("decoder_attention_heads",)),
        },
        # Without its ties the class has a table for each tower, which nobody trained; a layer left out is not computed.
        fixed={"is_encoder_decoder": (True,), "tie_word_embeddings": (True,)}
        | dict.fromkeys(("encoder_layerdrop", "decoder_layerdrop"), (0.0,)),
        inert=(
            *("scale_embedding", "init_std"),  # a factor; how weights are drawn
            *("normalize_before", "normalize_embedding", "add_final_layer_norm", "static_position_embeddings"),
            *("add_bias_logits", "extra_pos_embeddings", "classif_dropout"),  # of early releases, and read by no class
            "force_bos_token_to_be_generated",
        ),
    )
    witness = Witness("Bart")
    variants = ({}, {"head": "none"})

    activation: Activation = option(Function("activation_function", "gelu"))
    dropout: bool = option(Chance("dropout", 0.1))
    attention_dropout: bool = option(Chance("attention_dropout", 0.0))
    activation_dropout: bool = option(Chance("activation_dropout", 0.0))

    def layer(self, tower: Tower) -> Component:
        facts: dict[str, Any] = {"heads": A, "kv_heads": A, "head_width": E / A, "output": "out_proj"}
        facts["weight_dropout"] = "dropout" if self.attention_dropout else ""
        attention = SelfAttention(**facts, causal=tower == "decoder")
        inner = "activation_dropout" if self.activation_dropout else ""
        mlp = MLP(activation=self.activation, up="fc1", act="activation_fn", down="fc2", inner_dropout=inner)
        parts: dict[str, Component] = {"self_attn": attention, "self_attn_layer_norm": LayerNorm()}
        if tower == "decoder":
            parts |= {"encoder_attn": CrossAttention(**facts), "encoder_attn_layer_norm": LayerNorm()}
        parts |= {"": mlp, "final_layer_norm": LayerNorm()}
        return PostNormBlock(parts=parts, dropouts=("dropout",) * (len(parts) // 2) if self.dropout else ())

    def embed(self, ops: Operations, tower: Tower, tokens: Tensor) -> Tensor:
        table = PositionEmbedding(rows=P + SKIPPED, skipped=SKIPPED, sequences=B if tower == "encoder" else ONE)
        places = ops.index("positions", table.sequences, tokens.shape[1])
        x = super().embed(ops, tower, tokens)
        x = ops.add(f"{tower}.embed", x, ops.call(f"{tower}.embed_positions", table, places))
        x = ops.call(f"{tower}.layernorm_embedding", LayerNorm(), x)
        return ops.call(f"{tower}.dropout", Dropout(), x) if self.dropout else x
