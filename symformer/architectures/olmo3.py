"""OLMo 3."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import RMSNorm, SelfAttention
from ..language.symbols import A, C_win, D, E, G, H, V
from .base_architecture import HEAD_WIDTH, Fields, WitnessSpec, usual
from .bases.biased import Biased
from .bases.local_global import ROTARY_KINDS, LocalGlobal, local_global
from .bases.res_post_norm import ResPostNorm


@dataclass(frozen=True, kw_only=True)
class OLMo3(LocalGlobal, ResPostNorm, Biased):
    """OLMo 3, Team OLMo 2025 [olmo2025b], section 3: OLMo 2 with a sliding window in three of four layers.

    Each kind of layer has its own rotary table, because only the angles of layers without a window are scaled.

    >>> OLMo3().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*C*L_global*G*D
    """

    title = "OLMo 3"
    tables = "rotary_single"
    rotary = "separate"
    norm = RMSNorm(late=True)
    config = Fields(
        usual({V: 50304, E: 4096, H: 11008, A: 32, G: A, D: HEAD_WIDTH, C_win: 4096}),
        layers=local_global(3, 32),
        apiece=("full_attention", "sliding_attention"),
    )
    witness = WitnessSpec(
        "Olmo3",
        functions=("attention_dropout", *ROTARY_KINDS),
        arguments={"pad_token_id": 0},  # valid for any vocabulary size
    )

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, joint_norm=self.norm)
