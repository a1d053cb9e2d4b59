"""Windowed: LlamaLike with an optional sliding window in every layer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from sympy import Integer

from ...components import SelfAttention
from ...configs.field_mapping import Fields
from ...language.sizes import AtMost, Condition
from ...language.symbols import C_win
from .llama_like import ROTARY_HEADS, LlamaLike

# With a window of 1, transformers' cache contains all tokens, because it takes the last 0 of them as [-0:].
WINDOW = AtMost(Integer(2), C_win)


@dataclass(frozen=True, kw_only=True)
class Windowed(LlamaLike):
    """A decoder with a window in every layer, as in Mistral; in configs of later releases, the window is null."""

    unwindowed: ClassVar[tuple[Condition, ...]] = ROTARY_HEADS  # the conditions without a window
    config = Fields(nullable={"window": C_win})

    window: bool = True

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # depends on whether there is a window
        return (*self.unwindowed, WINDOW) if self.window else self.unwindowed

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, window=C_win if self.window else None)
