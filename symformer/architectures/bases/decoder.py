"""Decoder: a token embedding, stacks of layers, a final norm and a head."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from ...components import Component, LMHead, RMSNorm
from ...configs.config_fields import BoolField
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from ..base_architecture import option
from .stacked import Stacked


@dataclass(frozen=True, kw_only=True)
class Decoder(Stacked):
    """A decoder-only language model."""

    shapes = "tokens[B,S] -> logits[B,S,V]"

    @property
    def norm(self) -> Component:
        """Return a norm of the model."""
        return RMSNorm()

    @property
    def final_norm(self) -> Component | None:
        return self.norm

    @property
    def lm_head(self) -> LMHead | None:
        """Return the LM head, or None for a model that ends with its final norm."""
        return LMHead(tied=True)

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        head = self.lm_head
        if head is None:
            return x
        return ops.call(self.names.head, head, x, ops.weight(f"{self.names.table}.weight"))


@dataclass(frozen=True, kw_only=True)
class HubDecoder(Decoder):
    """A decoder of transformers, with a class that has a head, tied or not, and a class without one."""

    heads = {"ForCausalLM": {"head": "lm"}, "Model": {"head": "none"}}
    logits: ClassVar[LMHead] = LMHead()  # the LM head

    head: Literal["lm", "none"] = "lm"
    tied: bool = option(BoolField("tie_word_embeddings", False))

    @property
    def lm_head(self) -> LMHead | None:
        return replace(self.logits, tied=self.tied) if self.head == "lm" else None
