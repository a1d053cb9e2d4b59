"""Helium."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import RMSNorm, SelfAttention
from ..language.sizes import Divides
from ..language.symbols import A, E, G, H, L, V
from ..ledger.facts import REPEATED_ROTARY
from .base_architecture import Fields, WitnessSpec, usual
from .bases.biased import BiasedThroughout


@dataclass(frozen=True, kw_only=True)
class Helium(BiasedThroughout):
    """Helium 1 preview, Kyutai 2025 [kyutai2025]: Llama with heads of width E/A, and without a bias of the output
    projection.

    >>> Helium().params.partial(G="A")
    4*L*E**2 + 3*L*E*H + 2*L*E + 2*V*E + E
    """

    title = "Helium"
    constraints = (Divides(2 * A, E), Divides(G, A))  # a head of width E/A rotates in pairs of elements
    head_width = turned = E / A
    tables = REPEATED_ROTARY
    norm = RMSNorm(single=True)
    config = Fields(
        usual({V: 48000, E: 2560, H: 7040, L: 24, A: 20, G: 20}),
        restated={"head_dim": E / A},  # its output projection requires it
        assumed={"head_dim": 128},
        inert=("pretraining_tp",),
    )
    witness = WitnessSpec(
        "Helium",
        arguments={"pad_token_id": None},  # otherwise it must be a token
    )

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, output_bias=False)
