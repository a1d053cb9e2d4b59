"""Gopher."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import MLP, Component, PreNormBlock, RelativeAttention
from ..language.sizes import Divides
from ..language.symbols import A, E, H, L, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import PLAIN, BoolField, Field, Fields, Names, WitnessSpec, option, usual
from .bases.decoder import Decoder


@dataclass(frozen=True, kw_only=True)
class Gopher(Decoder):
    """Gopher, Rae et al. 2021 [rae2021], and Chinchilla, Hoffmann et al. 2022 [hoffmann2022]: GPT-2 with RMS norms and
    the relative positions of Dai et al. 2019 [dai2019].

    The papers have no formula. Their rounded counts agree with 13LE² + VE, which does not show whether the linear
    layers have biases. By default they have, as in GPT-2; ``bias=false`` removes them.

    >>> Gopher().params
    13*L*E**2 + 13*L*E + V*E + E
    """

    title = "Gopher"
    names = Names(table="embedding", head="head")
    relations = {H: 4 * E}
    constraints = (Divides(A, E),)
    config = Fields(
        usual({V: None, E: None, H: Field(("hidden",), 4 * E), L: None, A: None}, PLAIN), classes={"Gopher": {}}
    )
    witness = WitnessSpec.ours("gopher", functions=("distances",))
    variants = ({}, {"bias": False})

    bias: bool = option(BoolField("bias", True))

    @property
    def layer(self) -> Component:
        attention = RelativeAttention(head_width=E / A, bias=self.bias)
        mlp = MLP(bias=self.bias, act="act")
        return PreNormBlock(parts={"norm_1": self.norm, "attention": attention, "norm_2": self.norm, "mlp": mlp})

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.positions("distances", tokens.shape[1], E, "sinusoidal"),)
