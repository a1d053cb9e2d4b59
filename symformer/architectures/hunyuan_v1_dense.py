"""Hunyuan."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, D, E, G, H, L, V
from .base_architecture import Fields, WitnessSpec, usual
from .bases.hunyuan_like import HunyuanLike


@dataclass(frozen=True, kw_only=True)
class HunyuanDense(HunyuanLike):
    """Hunyuan 0.5B to 7B, Tencent Hunyuan Team 2025 [tencent2025]: Llama with norms of each query and key head after
    the rotation.

    >>> HunyuanDense().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*L*D + 2*V*E + E
    """

    title = "Hunyuan"
    config = Fields(
        usual({V: 290943, E: 4096, H: 11008, L: 32, A: 32, G: A, D: None}),
        fixed={"num_experts": (1,)},  # not read by the class
    )
    witness = WitnessSpec("HunYuanDenseV1")
