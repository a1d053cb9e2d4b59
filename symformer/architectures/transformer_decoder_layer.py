"""Transformer decoder layer."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import DecoderBlock
from ..components.decoder_block import decoder_parts
from ..language.sizes import Divides
from ..language.symbols import A, E, H
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import Architecture, BoolField, Field, Fields, WitnessSpec, option


@dataclass(frozen=True, kw_only=True)
class TransformerDecoderLayer(Architecture):
    """torch.nn.TransformerDecoderLayer: the decoder layer of Vaswani et al. 2017 [vaswani2017], section 3.1.

    >>> TransformerDecoderLayer().params
    8*E**2 + 2*E*H + 15*E + H
    """

    title = "Transformer decoder layer"
    shapes = "x[B,S,E], memory[B,S_enc,E] -> y[B,S,E]"
    further_inputs = {"memory": "is the output of the encoder"}
    constraints = (Divides(A, E),)

    config = Fields(
        {E: Field(("d_model",)), A: Field(("nhead",)), H: Field(("dim_feedforward",), 2048)},
        classes={"TransformerDecoderLayer": {}},
    )
    witness = WitnessSpec(
        library="torch.nn",
        prefix="",
        arguments={"batch_first": True},
        functions=("activation",),
    )
    variants = ({}, {"bias": False})

    bias: bool = option(BoolField("bias", True))

    def forward(self, ops: Operations, x: Tensor, memory: Tensor) -> Tensor:
        return ops.call("", DecoderBlock(parts=decoder_parts(self.bias)), x, memory)
