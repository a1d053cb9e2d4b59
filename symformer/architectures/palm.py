"""PaLM."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..components import Component, GatedMLP, LayerNorm, ParallelBlock, RotaryPositions, SelfAttention
from ..language.sizes import Divides
from ..language.symbols import A, D, E, H, L, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import PLAIN, BoolField, Field, Fields, Names, WitnessSpec, option, usual
from .bases.decoder import Decoder


@dataclass(frozen=True, kw_only=True)
class PaLM(Decoder):
    """PaLM, Chowdhery et al. 2022 [chowdhery2022], section 2: a decoder with parallel layers and a tied head.

    The paper's 540.35 billion parameters exclude the norm scales; ``norm_scales=true`` includes them.

    >>> PaLM().params
    2*L*E*A*D + 12*L*E**2 + 2*L*E*D + V*E
    """

    title = "PaLM"
    names = Names(table="embedding", head="head")
    relations = {H: 4 * E}
    constraints = (Divides(Integer(2), D),)  # rotary embeddings rotate pairs of elements
    config = Fields(
        usual({V: None, E: None, H: Field(("hidden",), 4 * E), L: None, A: None, D: None}, PLAIN), classes={"PaLM": {}}
    )
    witness = WitnessSpec.ours("palm", functions=("rotary_emb",))
    variants = ({}, {"norm_scales": True})
    uncounted = {"norm_scales": "the norm scales"}

    norm_scales: bool = option(BoolField("norm_scales", False))

    @property
    def norm(self) -> Component:
        return LayerNorm(scale=self.norm_scales, bias=False)

    @property
    def layer(self) -> Component:
        attention = SelfAttention(kv_heads=Integer(1), bias=False, output_bias=False, positions=RotaryPositions())
        return ParallelBlock(parts={"norm": self.norm, "attention": attention, "mlp": GatedMLP()})

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.positions("rotary_emb", tokens.shape[1], D, "rotary"),)
