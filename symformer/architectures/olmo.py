"""OLMo."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import LayerNorm
from ..language.symbols import A, D, E, G, H, L, V
from .base_architecture import HEAD_WIDTH, Fields, WitnessSpec, usual
from .bases.biased import Biased


@dataclass(frozen=True, kw_only=True)
class OLMo(Biased):
    """OLMo, Groeneveld et al. 2024 [groeneveld2024], section 2.1: Llama with layer norms without parameters.

    >>> OLMo().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*V*E
    """

    title = "OLMo"
    tables = "rotary_single"
    norm = LayerNorm(scale=False, bias=False, cast=True)
    config = Fields(
        usual({V: 50304, E: 4096, H: 11008, L: 32, A: 32, G: A, D: HEAD_WIDTH}),
        fixed={"clip_qkv": (None,)},  # would save a mask of the clipped elements
    )
    witness = WitnessSpec("Olmo", arguments={"pad_token_id": 0})  # valid for any table
