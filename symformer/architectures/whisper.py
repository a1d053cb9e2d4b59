"""Whisper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Integer

from ..components import LMHead, PositionEmbedding, TokenEmbedding
from ..language.sizes import Divides
from ..language.symbols import A, B, E, H, L_dec, L_enc, N_mel, P, P_enc, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import Fields, ProbabilityField, WitnessSpec, option, usual
from .bases.bart_like import DROPOUTS, FAIRSEQ, both
from .bases.encoder_decoder import Tower
from .bases.pre_norm_bart import PreNormBart

HIDDEN, HEADS = both("ffn_dim", 1536), both("attention_heads", 6, "num_attention_heads")
NAMES = {**FAIRSEQ, P: ("max_target_positions",)}


@dataclass(frozen=True, kw_only=True)
class Whisper(PreNormBart):
    """Whisper, Radford et al. 2022 [radford2022], section 2.2: a pre-norm encoder and decoder. The input of the
    encoder is a log-mel spectrogram with N_mel channels. Two convolutions come first, with kernels of 3 frames and one
    frame of padding at each end; the second has a stride of 2.

    The 2·P_enc frames become the fixed number P_enc of encoder positions. The encoder's sinusoidal positions are a
    weight in transformers that is not trained. Keys have no bias.

    >>> Whisper().params  # doctest: +NORMALIZE_WHITESPACE
    4*L_enc*E**2 + 2*L_enc*E*H + 8*L_dec*E**2 + 2*L_dec*E*H + 8*L_enc*E + L_enc*H
    + 13*L_dec*E + L_dec*H + V*E + P*E + P_enc*E + 3*N_mel*E + 3*E**2 + 6*E
    """

    title = "Whisper"
    shapes = "spectrogram[B,N_mel,2*P_enc], tokens[B,S] -> output"
    table = "decoder.embed_tokens"
    constraints = (*PreNormBart.constraints, Divides(Integer(2), E))  # a sine and a cosine for each frequency
    config = Fields(
        usual({V: 51865, P: 448, P_enc: 1500, N_mel: 80, E: 384, H: HIDDEN, L_enc: 4, L_dec: 4, A: HEADS}, NAMES),
        fixed={"apply_spec_augment": (False,)},
        inert=(
            *("use_weighted_layer_sum", "classifier_proj_size", "median_filter_width"),
            *("mask_time_prob", "mask_time_length", "mask_time_min_masks"),  # masking of the audio in training
            *("mask_feature_prob", "mask_feature_length", "mask_feature_min_masks"),
            *("forced_decoder_ids", "alignment_heads"),
        ),
    )
    witness = WitnessSpec("Whisper", functions=(*DROPOUTS, "gelu_1", "gelu_2"), arguments={"pad_token_id": 0})

    dropout: bool = option(ProbabilityField("dropout", 0.0))

    @property
    def logits(self) -> tuple[str, LMHead]:
        return "proj_out", LMHead(tied=True)

    @property
    def heads_alike(self) -> dict[str, Any]:
        return {**super().heads_alike, "key_bias": False, "scale": "queries"}

    def embed(self, ops: Operations, tower: Tower, tokens: Tensor) -> Tensor:
        if tower == "encoder":
            x = ops.channels_last(ops.convolution("encoder.conv1", tokens, E, (3,), padding=1))
            x = ops.channels_first(ops.activation("encoder.gelu_1", x, "gelu"))
            x = ops.channels_last(ops.convolution("encoder.conv2", x, E, (3,), stride=2, padding=1))
            x = ops.activation("encoder.gelu_2", x, "gelu")
            table = PositionEmbedding(rows=P_enc, fixed=True)
        else:
            x = ops.call(self.table, TokenEmbedding(), tokens)
            table = PositionEmbedding(sequences=B)
        return self.dropped(ops, tower, self.placed(ops, tower, x, table))
