"""EncoderDecoder: an encoder, and a decoder that attends to it."""

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
from ..base_architecture import Architecture
from .stacked import Stack

Tower = Literal["encoder", "decoder"]  # torch's names


@dataclass(frozen=True, kw_only=True)
class EncoderDecoder(Architecture):
    """Two towers of layers. A subclass defines their embeddings, their layers, and the end of each tower."""

    shapes = "source[B,S_enc], target[B,S] -> output"
    layers: ClassVar[str] = "layers"  # torch's names
    table: ClassVar[str] = "shared"
    heads = {"ForConditionalGeneration": {"head": "lm"}, "Model": {"head": "none"}}

    head: Literal["lm", "none"] = "lm"

    @property
    def logits(self) -> tuple[str, LMHead]:
        """Return the LM head and its name."""
        return "lm_head", LMHead(tied=True)

    def stacks(self, tower: Tower) -> tuple[Stack, ...]:
        """Return the stacks of layers of a tower, one for each kind."""
        return (Stack(self.layers, L_enc if tower == "encoder" else L_dec, self.layer(tower)),)

    @abstractmethod
    def layer(self, tower: Tower) -> Component:
        """Return a layer of a tower. Its further inputs are passed by name; in the decoder, they include ``memory``."""

    def embed(self, ops: Operations, tower: Tower, tokens: Tensor) -> Tensor:
        """Return the input of the first layer, from the table that both towers and the head share."""
        if tower == "encoder":
            return ops.call(self.table, TokenEmbedding(), tokens)
        return ops.call(f"{tower}.embed_tokens", TokenEmbedding(), tokens, ops.weight(f"{self.table}.weight"))

    def beside(self, ops: Operations, tower: Tower, tokens: Tensor) -> Mapping[str, Tensor]:
        """Return the further inputs of all layers of a tower, by name."""
        return {}

    def finish(self, ops: Operations, tower: Tower, x: Tensor) -> Tensor:
        """Return the output of a tower, given the output of its last layer."""
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
        name = f"{tower}.{self.layers}"
        if len(stacks := self.stacks(tower)) > 1:
            kinds = {f"{tower}.{each.name}": (each.count, each.layer, (read,)) for each in stacks}
            return self.finish(ops, tower, ops.mix_layers(name, count, kinds, x))
        return self.finish(ops, tower, ops.repeat(name, count, self.layer(tower), x, read))
