"""BitNet."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, GatedMLP, SelfAttention
from ..language.sizes import Divides
from ..language.symbols import A, E, G, H, L, V
from ..ledger.facts import Activation
from .base_architecture import Fields, Function, WitnessSpec, option, usual
from .bases.biased import Biased


@dataclass(frozen=True, kw_only=True)
class BitNet(Biased):
    """BitNet b1.58 2B4T, Ma et al. 2025 [ma2025], section 2: Llama with squared ReLU, heads of width E/A, and a norm
    before the output projection of each sublayer.

    The weights of its linear layers are -1, 0 or 1, times a scale; the formulas count them, not their bits.

    >>> BitNet().params.partial(G="A")
    4*L*E**2 + 3*L*E*H + 3*L*E + L*H + 2*V*E + E
    """

    title = "BitNet"
    constraints = (Divides(2 * A, E), Divides(G, A))  # a head of width E/A rotates in pairs of elements
    head_width = turned = E / A
    config = Fields(usual({V: 128256, E: 2560, H: 6912, L: 30, A: 20, G: 5}))
    witness = WitnessSpec("BitNet")

    activation: Activation = option(Function("hidden_act", "relu2"))

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, output_norm=self.norm)

    @property
    def mlp(self) -> Component:
        return GatedMLP(activation=self.activation, norm=self.norm)
