"""Windowed: LlamaLike, with a sliding window in every layer where a config has one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from sympy import Integer

from ...components import SelfAttention
from ...configs.fields import Fields
from ...language.sizes import AtMost, Condition
from ...language.symbols import C_win
from .llama_like import ROTARY_HEADS, LlamaLike

# With a window of 1 transformers' cache keeps all tokens: the last 0 of them are [-0:].
WINDOW = AtMost(Integer(2), C_win)


@dataclass(frozen=True, kw_only=True)
class Windowed(LlamaLike):
    """As Mistral has it, where a window is null in a config of a later release."""

    unwindowed: ClassVar[tuple[Condition, ...]] = ROTARY_HEADS  # what it asks for without one
    config = Fields(nullable={"window": C_win})

    window: bool = True

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # with no window, no condition on it
        return (*self.unwindowed, WINDOW) if self.window else self.unwindowed

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, window=C_win if self.window else None)
