"""Stacked: what goes in, layers in one stack or several, what comes out. The shape of every tower."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from sympy import Add, Expr

from ...components import Component, Dropout, PositionEmbedding, TokenEmbedding
from ...language.sizes import Relations
from ...language.symbols import L
from ...ledger.facts import Order, Tensor
from ...ledger.operations import Operations
from ..base import Architecture, Names


@dataclass(frozen=True)
class Stack:
    """Equal layers, one after another, under the name of their list."""

    name: str
    count: Expr
    layer: Component
    distinct: Expr | None = None  # how many have weights of their own, which the others share; None: all


@dataclass(frozen=True, kw_only=True)
class Stacked(Architecture):
    """A model whose layers run one after another; a subclass hands in its layer or its stacks."""

    names: ClassVar[Names] = Names()
    order: ClassVar[Order] = "any"  # how layers of several kinds follow one another

    @property
    @abstractmethod
    def layer(self) -> Component:
        """One layer; of several kinds, the one that a subclass makes the others from."""

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """The layers, in the order they run."""
        return (Stack(self.names.layers, L, self.layer),)

    @property
    def totals(self) -> Relations:
        return {L: Add(*(stack.count for stack in self.stacks))} if len(self.stacks) > 1 else {}

    @property
    def final_norm(self) -> Component | None:
        """What follows the layers; None where nothing does."""
        return None

    @property
    def embedding_drop(self) -> str:
        """The name of a dropout on what is embedded; "" where there is none."""
        return ""

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        """What the first layer reads."""
        x = ops.call(self.names.table, TokenEmbedding(), tokens)
        x = with_positions(ops, self.names.positions, x) if self.names.positions else x
        return ops.call(self.embedding_drop, Dropout(), x) if self.embedding_drop else x

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        """What every layer reads beside its input, such as the angles of rotary positions."""
        return ()

    @abstractmethod
    def finish(self, ops: Operations, x: Tensor) -> Tensor | tuple[Tensor, ...]:
        """What the model gives, made from what its layers and their last norm give."""

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor | tuple[Tensor, ...]:
        x = self.embed(ops, tokens)
        context = self.context(ops, tokens)
        x = run_stacks(ops, self.names.layers, self.stacks, x, *context, order=self.order)
        if self.final_norm is not None:
            x = ops.call(self.names.norm, self.final_norm, x)
        return self.finish(ops, x)


def run_stacks(
    ops: Operations,
    name: str,
    stacks: tuple[Stack, ...],
    x: Tensor,
    *context: Tensor,
    total: Expr = L,
    order: Order = "any",
) -> Tensor:
    """Layers that read the context beside their input; those of several kinds stand in one list, ``total`` of them."""
    if len(stacks) > 1:
        return ops.mix_layers(name, total, {each.name: (each.count, each.layer, context) for each in stacks}, x, order)
    (only,) = stacks
    return ops.repeat(only.name, only.count, only.layer, x, *context, distinct=only.distinct)


def with_positions(
    ops: Operations, name: str, x: Tensor, table: PositionEmbedding | None = None, added: str = "embed"
) -> Tensor:
    """Learned positions, under torch's name of their table, added to what stands at them."""
    places = ops.index("positions", 1, x.shape[1])
    return ops.add(added, x, ops.call(name, table or PositionEmbedding(), places))
