"""Transformer: the encoder-decoder."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import DecoderBlock, LayerNorm, LMHead, PostNormBlock, SinusoidalPositions, TokenEmbedding
from ..components.decoder_block import decoder_parts
from ..components.post_norm_block import encoder_parts
from ..language.sizes import Divides
from ..language.symbols import A, E, H, L_dec, L_enc, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import Architecture, BoolField, Field, Fields, WitnessSpec, option


@dataclass(frozen=True, kw_only=True)
class Transformer(Architecture):
    """torch.nn.Transformer: the encoder-decoder of Vaswani et al. 2017 [vaswani2017], section 3, as torch builds it.

    Unlike the paper, torch has biases in attention and a norm after each stack. With ``embeddings=true``, one table of
    V rows is shared by the source, the target and the logits (section 3.4 of the paper).

    >>> Transformer().params
    4*L_enc*E**2 + 2*L_enc*E*H + 8*L_dec*E**2 + 2*L_dec*E*H + 9*L_enc*E + L_enc*H + 15*L_dec*E + L_dec*H + 4*E
    """

    title = "Transformer"
    further_inputs = {"target": "are the embeddings of the decoder's tokens"}
    constraints = (Divides(A, E),)

    config = Fields(
        {
            V: Field(("vocabulary",)),
            E: Field(("d_model",), 512),
            A: Field(("nhead",), 8),
            H: Field(("dim_feedforward",), 2048),
            L_enc: Field(("num_encoder_layers",), 6),
            L_dec: Field(("num_decoder_layers",), 6),
        },
        classes={
            "Transformer": {"embeddings": False},
            "symformer.witness.models.embedded_transformer:EmbeddedTransformer": {"embeddings": True},
        },
    )
    witness = WitnessSpec(
        library="torch.nn",
        prefix="transformer.",
        arguments={"batch_first": True},
        functions=("activation", "positions"),
    )
    variants = ({}, {"bias": False}, {"embeddings": True})

    embeddings: bool = False
    bias: bool = option(BoolField("bias", True))

    @property
    def shapes(self) -> str:  # type: ignore[override]  # an option changes the inputs
        if self.embeddings:
            return "source[B,S_enc], target[B,S] -> logits[B,S,V]"
        return "source[B,S_enc,E], target[B,S,E] -> y[B,S,E]"

    def forward(self, ops: Operations, source: Tensor, target: Tensor) -> Tensor:
        if self.embeddings:
            source = ops.scale("scale", ops.call("embedding", TokenEmbedding(), source), "root")
            source = ops.call("positions", SinusoidalPositions(), source)
            target = ops.call("embedding", TokenEmbedding(), target, ops.weight("embedding.weight"))
            target = ops.call("positions", SinusoidalPositions(), ops.scale("scale", target, "root"))
        norm = LayerNorm(bias=self.bias)
        memory = ops.repeat("encoder.layers", L_enc, PostNormBlock(parts=encoder_parts(self.bias)), source)
        memory = ops.call("encoder.norm", norm, memory)
        y = ops.repeat("decoder.layers", L_dec, DecoderBlock(parts=decoder_parts(self.bias)), target, memory)
        y = ops.call("decoder.norm", norm, y)
        if not self.embeddings:
            return y
        return ops.call("head", LMHead(tied=True), y, ops.weight("embedding.weight"))
