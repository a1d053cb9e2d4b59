"""EncoderDecoder: a tower that reads what is given, and one that attends to it and goes on."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from sympy import Expr

from ...components import Component, LMHead, TokenEmbedding
from ...language.symbols import L_dec, L_enc
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from ..base import Architecture

Tower = Literal["encoder", "decoder"]  # as torch calls them


@dataclass(frozen=True, kw_only=True)
class EncoderDecoder(Architecture):
    """Two towers of layers; a subclass hands in what they embed, their layers and what follows."""

    shapes = "source[B,S_enc], target[B,S] -> output"
    layers: ClassVar[str] = "layers"  # torch's names
    table: ClassVar[str] = "shared"
    heads = {"ForConditionalGeneration": {"head": "lm"}, "Model": {"head": "none"}}

    head: Literal["lm", "none"] = "lm"

    @property
    def logits(self) -> tuple[str, LMHead]:
        """What gives the logits, and its name."""
        return "lm_head", LMHead(tied=True)

    @abstractmethod
    def layer(self, tower: Tower) -> Component:
        """One layer of a tower. What it reads beside its input it is given by name; a decoder's, the ``memory``."""

    def embed(self, ops: Operations, tower: Tower, tokens: Tensor) -> Tensor:
        """What the first layer reads: rows of the one table that both towers and the head share."""
        if tower == "encoder":
            return ops.call(self.table, TokenEmbedding(), tokens)
        return ops.call(f"{tower}.embed_tokens", TokenEmbedding(), tokens, ops.weight(f"{self.table}.weight"))

    def beside(self, ops: Operations, tower: Tower, tokens: Tensor) -> Mapping[str, Tensor]:
        """What all layers of a tower read beside their input, by name."""
        return {}

    def finish(self, ops: Operations, tower: Tower, x: Tensor) -> Tensor:
        """What follows the last layer of a tower."""
        return x

    def forward(self, ops: Operations, source: Tensor, target: Tensor) -> Tensor:
        memory = self._run(ops, "encoder", L_enc, source)
        y = self._run(ops, "decoder", L_dec, target, memory=memory)
        if self.head == "none":
            return y
        return ops.call(*self.logits, y, ops.weight(f"{self.table}.weight"))

    def _run(self, ops: Operations, tower: Tower, count: Expr, tokens: Tensor, **read: Tensor) -> Tensor:
        x = self.embed(ops, tower, tokens)
        read |= self.beside(ops, tower, tokens)
        return self.finish(ops, tower, ops.repeat(f"{tower}.{self.layers}", count, self.layer(tower), x, read))
