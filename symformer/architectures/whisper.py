"""Whisper."""

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
    LMHead,
    PositionEmbedding,
    PreNormBlock,
    SelfAttention,
    TokenEmbedding,
)
from ..language.sizes import Divides
from ..language.symbols import A, B, E, H, L_dec, L_enc, N_mel, P, P_enc, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Chance, Field, Fields, Function, Witness, option
from .bases.encoder_decoder import EncoderDecoder, Tower


@dataclass(frozen=True, kw_only=True)
class Whisper(EncoderDecoder):
    """Whisper, Radford et al. 2022 [radford2022], section 2.2: convolutions over sound, then a pre-norm transformer.

    The second convolution halves 2·P_enc frames of sound to the P_enc that the encoder reads, always as many. Its
    positions are sines that transformers stores among the weights, and never trains. Keys have no bias.

    >>> Whisper().params  # doctest: +NORMALIZE_WHITESPACE
    4*L_enc*E**2 + 2*L_enc*E*H + 8*L_dec*E**2 + 2*L_dec*E*H + 8*L_enc*E + L_enc*H
    + 13*L_dec*E + L_dec*H + V*E + P*E + P_enc*E + 3*N_mel*E + 3*E**2 + 6*E
    """

    title = "Whisper"
    shapes = "sound[B,N_mel,2*P_enc], target[B,S] -> output"
    table = "decoder.embed_tokens"
    constraints = (Divides(A, E), Divides(Integer(2), E))  # a sine and a cosine for each rate

    config = Fields(
        {
            V: Field(("vocab_size",), 51865),
            P: Field(("max_target_positions",), 448),
            P_enc: Field(("max_source_positions",), 1500),
            N_mel: Field(("num_mel_bins",), 80),
            E: Field(("d_model", "hidden_size"), 384),
            H: Field(("encoder_ffn_dim",), 1536, twins=("decoder_ffn_dim",)),
            L_enc: Field(("encoder_layers", "num_hidden_layers"), 4),
            L_dec: Field(("decoder_layers",), 4),
            A: Field(("encoder_attention_heads", "num_attention_heads"), 6, twins=("decoder_attention_heads",)),
        },
        fixed={"is_encoder_decoder": (True,), "tie_word_embeddings": (True,), "apply_spec_augment": (False,)}
        | dict.fromkeys(("encoder_layerdrop", "decoder_layerdrop"), (0.0,)),
        inert=(
            *("scale_embedding", "init_std", "use_weighted_layer_sum", "classifier_proj_size", "median_filter_width"),
            *("mask_time_prob", "mask_time_length", "mask_time_min_masks"),  # of sound set to zero
            *("mask_feature_prob", "mask_feature_length", "mask_feature_min_masks"),
            *("forced_decoder_ids", "alignment_heads"),
        ),
    )
    witness = Witness("Whisper", arguments={"pad_token_id": 0})
    variants = ({}, {"head": "none"})

    activation: Activation = option(Function("activation_function", "gelu"))
    dropout: bool = option(Chance("dropout", 0.0))
    attention_dropout: bool = option(Chance("attention_dropout", 0.0))
    activation_dropout: bool = option(Chance("activation_dropout", 0.0))

    @property
    def logits(self) -> tuple[str, LMHead]:
        return "proj_out", LMHead(tied=True)

    def layer(self, tower: Tower) -> Component:
        facts: dict[str, Any] = {"heads": A, "kv_heads": A, "head_width": E / A, "key_bias": False, "scale": "queries"}
        facts |= {"output": "out_proj", "weight_dropout": "dropout" if self.attention_dropout else ""}
        attention = SelfAttention(**facts, causal=tower == "decoder")
        inner = "activation_dropout" if self.activation_dropout else ""
        mlp = MLP(activation=self.activation, up="fc1", act="activation_fn", down="fc2", inner_dropout=inner)
        parts: dict[str, Component] = {"self_attn_layer_norm": LayerNorm(), "self_attn": attention}
        if tower == "decoder":
            parts |= {"encoder_attn_layer_norm": LayerNorm(), "encoder_attn": CrossAttention(**facts)}
        parts |= {"final_layer_norm": LayerNorm(), "": mlp}
        return PreNormBlock(parts=parts, dropout="dropout" if self.dropout else "")

    def embed(self, ops: Operations, tower: Tower, tokens: Tensor) -> Tensor:
        if tower == "encoder":
            x = ops.activation("encoder.gelu_1", ops.convolution("encoder.conv1", tokens, E, (3,), padding=1), "gelu")
            x = ops.convolution("encoder.conv2", x, E, (3,), stride=2, padding=1)
            x = ops.channels_last(ops.activation("encoder.gelu_2", x, "gelu"))
            table = PositionEmbedding(rows=P_enc, fixed=True)
        else:
            x = ops.call(self.table, TokenEmbedding(), tokens)
            table = PositionEmbedding(sequences=B)
        places = ops.index("positions", table.sequences, x.shape[1])
        x = ops.add(f"{tower}.embed", x, ops.call(f"{tower}.embed_positions", table, places))
        return ops.call(f"{tower}.dropout", Dropout(), x) if self.dropout else x

    def finish(self, ops: Operations, tower: Tower, x: Tensor) -> Tensor:
        return ops.call(f"{tower}.layer_norm", LayerNorm(), x)
