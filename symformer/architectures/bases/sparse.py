"""Sparse: LlamaLike, with K of X experts a token in place of its feed-forward network."""

from __future__ import annotations

from dataclasses import dataclass

from ...components.base import Component
from ...components.moe import MoE
from ...language.sizes import AtMost
from ...language.symbols import K, X
from .llama_like import ROTARY_HEADS, LlamaLike


@dataclass(frozen=True, kw_only=True)
class Sparse(LlamaLike):
    """As Mixtral has it."""

    constraints = (*ROTARY_HEADS, AtMost(K, X))

    @property
    def mlp(self) -> Component:
        return MoE(activation=self.activation)
