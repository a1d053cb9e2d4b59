"""Transformer encoder layer."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import PostNormBlock
from ..components.post_norm_block import encoder_parts
from ..language.sizes import Divides
from ..language.symbols import A, E, H
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import Architecture, BoolField, Field, Fields, WitnessSpec, option


@dataclass(frozen=True, kw_only=True)
class TransformerEncoderLayer(Architecture):
    """torch.nn.TransformerEncoderLayer: the encoder layer of Vaswani et al. 2017 [vaswani2017], section 3.1.

    >>> TransformerEncoderLayer().params
    4*E**2 + 2*E*H + 9*E + H
    """

    title = "Transformer encoder layer"
    shapes = "x[B,S,E] -> y[B,S,E]"
    constraints = (Divides(A, E),)

    config = Fields(
        {E: Field(("d_model",)), A: Field(("nhead",)), H: Field(("dim_feedforward",), 2048)},
        classes={"TransformerEncoderLayer": {}},
    )
    witness = WitnessSpec(
        library="torch.nn",
        prefix="",
        arguments={"batch_first": True},
        functions=("activation",),
    )
    variants = ({}, {"bias": False})

    bias: bool = option(BoolField("bias", True))

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.call("", PostNormBlock(parts=encoder_parts(self.bias)), x)
