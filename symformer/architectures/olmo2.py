"""OLMo 2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, RMSNorm
from ..language.symbols import A, D, E, G, H, L, V
from .base_architecture import HEAD_WIDTH, Fields, WitnessSpec, usual
from .bases.biased import Biased
from .bases.res_post_norm import ResPostNorm


@dataclass(frozen=True, kw_only=True)
class OLMo2(ResPostNorm, Biased):
    """OLMo 2, Team OLMo 2025 [olmo2025], section 2: norms on the outputs of attention and the MLP, and on queries and
    keys.

    >>> OLMo2().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + L*A*D + L*G*D + 2*L*E + 2*V*E + E
    """

    title = "OLMo 2"
    tables = "rotary_single"
    norm = RMSNorm(late=True)
    config = Fields(usual({V: 50304, E: 4096, H: 11008, L: 32, A: 32, G: A, D: HEAD_WIDTH}))
    witness = WitnessSpec("Olmo2", arguments={"pad_token_id": 0})  # valid for any table

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, joint_norm=self.norm)
