"""Stacked: the embedding, one or several stacks of layers, and the output. The base of every tower."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from sympy import Add, Expr

from ...components import Component, Dropout, PositionEmbedding, TokenEmbedding
from ...language.frozen import FrozenDict
from ...language.sizes import Relations
from ...language.symbols import L
from ...ledger.facts import Order, Tensor
from ...ledger.operations import Operations
from ..base_architecture import Architecture, Names


@dataclass(frozen=True)
class Stack:
    """A sequence of equal layers, with the name of their list."""

    name: str
    count: Expr
    layer: Component
    distinct: Expr | None = None  # the number of layers with their own weights, which the others share; None for all


@dataclass(frozen=True, kw_only=True)
class Stacked(Architecture):
    """A model whose layers run in sequence. A subclass defines its layer or its stacks."""

    names: ClassVar[Names] = Names()
    order: ClassVar[Order] = "any"  # the order of layers of several kinds

    @property
    @abstractmethod
    def layer(self) -> Component:
        """Return a layer; with several kinds, the kind from which a subclass derives the others."""

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """Return the stacks of layers in execution order."""
        return (Stack(self.names.layers, L, self.layer),)

    @cached_property
    def totals(self) -> Relations:
        stacks = self.stacks
        return FrozenDict({L: Add(*(stack.count for stack in stacks))} if len(stacks) > 1 else {})

    @property
    def final_norm(self) -> Component | None:
        """Return the norm after the layers, or None."""
        return None

    @property
    def embedding_drop(self) -> str:
        """Return the name of the dropout on the embeddings, or ""."""
        return ""

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        """Return the input of the first layer."""
        x = ops.call(self.names.table, TokenEmbedding(), tokens)
        x = with_positions(ops, self.names.positions, x) if self.names.positions else x
        return ops.call(self.embedding_drop, Dropout(), x) if self.embedding_drop else x

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        """Return the further inputs of every layer, such as the angles of rotary embeddings."""
        return ()

    def contexts(self, ops: Operations, tokens: Tensor) -> tuple[tuple[Tensor, ...], ...]:
        """Return the further inputs of the layers of each stack, if they differ between stacks."""
        return (self.context(ops, tokens),) * len(self.stacks)

    @abstractmethod
    def finish(self, ops: Operations, x: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Return the output of the model, given the output of its layers and their final norm."""

    def run_layers(self, ops: Operations, x: Tensor, tokens: Tensor) -> Tensor:
        """Return the output of the layers and the final norm, given the input of the first layer."""
        contexts = self.contexts(ops, tokens)
        x = run_stacks(ops, self.names.layers, self.stacks, x, contexts, order=self.order)
        return x if self.final_norm is None else ops.call(self.names.norm, self.final_norm, x)

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor | tuple[Tensor, ...]:
        return self.finish(ops, self.run_layers(ops, self.embed(ops, tokens), tokens))


def run_stacks(
    ops: Operations,
    name: str,
    stacks: tuple[Stack, ...],
    x: Tensor,
    contexts: tuple[tuple[Tensor, ...], ...],
    order: Order = "any",
) -> Tensor:
    """Run stacks of layers, each with its further inputs; several kinds form one list of L layers."""
    if len(stacks) > 1:
        kinds = {each.name: (each.count, each.layer, context) for each, context in zip(stacks, contexts, strict=True)}
        return ops.mix_layers(name, L, kinds, x, order)
    (only,), (context,) = stacks, contexts
    return ops.repeat(only.name, only.count, only.layer, x, *context, distinct=only.distinct)


def with_positions(
    ops: Operations, name: str, x: Tensor, table: PositionEmbedding | None = None, added: str = "embed"
) -> Tensor:
    """Return x with learned positions added, from a table with the name that it has in torch."""
    places = ops.index("positions", 1, x.shape[1])
    return ops.add(added, x, ops.call(name, table or PositionEmbedding(), places))
