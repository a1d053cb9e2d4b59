"""Mistral."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components.base import Component
from ..language.sizes import AtMost, Condition
from ..language.symbols import A, C_win, D, E, G, H, L, V
from .base import Fields, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS, ROTARY_HEADS, LlamaLike


@dataclass(frozen=True, kw_only=True)
class Mistral(LlamaLike):
    """Mistral 7B, Jiang et al. 2023 [jiang2023], section 2: Llama, in the first release with a sliding window.

    Their W is C_win here. Later releases have no window; a query then sees every token before it.

    >>> Mistral().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E
    >>> Mistral().formula("kv-cache")
    4*B*L*G*D*min(C, C_win - 1)
    """

    title = "Mistral"
    fields = Fields(
        usual({V: 32000, E: 4096, H: 14336, L: 32, A: 32, G: 8, D: E / A, C_win: 4096}),
        OPTIONS,
        nullable={"window": C_win},
        model_types=("mistral",),
        classes=heads("Mistral"),
        rotary=True,
        inert=(NO_TABLE,),
    )
    witness = Witness("transformers", "MistralConfig", prefix="model.")
    variants = ({}, {"window": False}, {"tied": True}, {"head": "none"})

    window: bool = True

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # with no window, no condition on it
        return (*ROTARY_HEADS, AtMost(Integer(2), C_win)) if self.window else ROTARY_HEADS

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, window=C_win if self.window else None)
