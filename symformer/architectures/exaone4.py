"""EXAONE 4."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import SelfAttention
from ..language.symbols import A, C_win, D, E, G, H, V
from .base_architecture import HEAD_WIDTH, Fields, WitnessSpec, usual
from .bases.local_global import LocalGlobal, local_global
from .bases.res_post_norm import ResPostNorm


@dataclass(frozen=True, kw_only=True)
class Exaone4(LocalGlobal, ResPostNorm):
    """EXAONE 4.0 32B, LG AI Research 2025 [lgai2025], section 2.1: norms on the outputs of attention and the MLP,
    and on the queries and keys of each head.

    Three of four layers have a sliding window. The others have no positions.

    >>> Exaone4().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*C*L_global*G*D
    """

    title = "EXAONE 4"
    rotary = "local"
    config = Fields(
        usual({V: 102400, E: 4096, H: 16384, A: 32, G: 32, D: HEAD_WIDTH, C_win: 4096}),
        layers=local_global(3, 32),
        fixed={"sliding_window_pattern": (4,)},
    )
    witness = WitnessSpec("Exaone4")

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, head_norm=self.norm)
