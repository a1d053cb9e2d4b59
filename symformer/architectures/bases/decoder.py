"""Decoder: a token table, stacks of layers, a final norm and a head."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from ...components import Component, LMHead, RMSNorm
from ...configs.fields import Switch
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from ..base import option
from .stacked import Stacked


@dataclass(frozen=True, kw_only=True)
class Decoder(Stacked):
    """A decoder-only language model."""

    shapes = "tokens[B,S] -> logits[B,S,V]"

    @property
    def norm(self) -> Component:
        """A norm, wherever the model has one."""
        return RMSNorm()

    @property
    def final_norm(self) -> Component | None:
        return self.norm

    @property
    def lm_head(self) -> LMHead | None:
        """What gives the logits; None where the model ends in its last norm."""
        return LMHead(tied=True)

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        head = self.lm_head
        if head is None:
            return x
        return ops.call(self.names.head, head, x, ops.weight(f"{self.names.table}.weight"))


@dataclass(frozen=True, kw_only=True)
class HubDecoder(Decoder):
    """A decoder as transformers has them: a class with a head, which may read the token table, and one without."""

    heads = {"ForCausalLM": {"head": "lm"}, "Model": {"head": "none"}}
    logits: ClassVar[LMHead] = LMHead()  # what gives them

    head: Literal["lm", "none"] = "lm"
    tied: bool = option(Switch("tie_word_embeddings", False))

    @property
    def lm_head(self) -> LMHead | None:
        return replace(self.logits, tied=self.tied) if self.head == "lm" else None
