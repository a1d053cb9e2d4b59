"""Pre-norm block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..language.errors import alternatives, joined
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component, inputs_for
from .identity import Identity
from .layer_norm import LayerNorm
from .mlp import MLP
from .parallel_sum import ParallelSum
from .self_attention import SelfAttention


@dataclass(frozen=True, kw_only=True)
class ResidualBlock(Component):
    """A sequence of branches x + g(x), where g is a sublayer and its norms. A subclass sets their order."""

    role = "block"
    shapes = "x[B,S,E] -> y[B,S,E]"
    relations = SelfAttention.relations
    constraints = SelfAttention.constraints

    parts: Mapping[str, Component]  # in execution order, by their names in torch
    float32: bool = False  # whether the residual stream is float32, even in half precision

    @property
    @abstractmethod
    def branch(self) -> tuple[str, ...]:
        """Return the parts of a branch in execution order: "sublayer" once, and "norm"."""

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        parts, places = list(self.parts.items()), len(self.branch)
        for branch in zip(*(parts[place::places] for place in range(places)), strict=True):
            y = x
            for name, part in branch:
                y = ops.call(name, part, *inputs_for(part, y, context))
            sublayer, _ = branch[self.branch.index("sublayer")]
            x = ops.add(f"{sublayer}_residual".lstrip("_"), x, self.ended(ops, sublayer, y), float32=self.float32)
        return x

    def ended(self, ops: Operations, sublayer: str, y: Tensor) -> Tensor:
        """Return the tensor to add to the residual stream, given the output of a branch."""
        return y


_MIXERS = {"attention": "attention", "linear attention": "linear attention", "state-space mixer": "a state-space mixer"}


def _phrases(part: Component) -> list[str]:
    """Return what mixes the tokens in the first sublayer of a block, as a phrase in a list."""
    if isinstance(part, ParallelSum):
        return [f"the sum of {joined(phrase for each in part.parts.values() for phrase in _phrases(each))}"]
    return [_MIXERS.get(part.role, f"a {part.title.lower()}")]


@dataclass(frozen=True, kw_only=True)
class PreNormBlock(ResidualBlock):
    """Each sublayer f in turn is applied as ``x + f(norm(x))``, Xiong et al. 2020 [xiong2020], table 1.

    >>> PreNormBlock().params
    4*E**2 + 2*E*H + 9*E + H
    """

    title = "Pre-norm block"
    branch = ("norm", "sublayer")

    parts: Mapping[str, Component] = field(
        default_factory=lambda: {"ln_1": LayerNorm(), "attn": SelfAttention(), "ln_2": LayerNorm(), "mlp": MLP()}
    )
    dropout: str = ""  # the name of the block's dropout on the output of each sublayer, or ""
    scale: str = ""  # the name of the factor of each sublayer's output, or ""

    @property
    def about(self) -> str:
        """Return the description: the sublayers, and whether the first norm is missing."""
        return self.about_with(())

    def about_with(self, kinds: Iterable[Component]) -> str:
        """Return the description that this block shares with the blocks of other kinds of layers."""
        norms, sublayers = list(self.parts.values())[::2], len(self.parts) // 2
        blocks = [self, *(block for block in kinds if isinstance(block, PreNormBlock))]
        mixers = dict.fromkeys(phrase for block in blocks for phrase in _phrases(list(block.parts.values())[1]))
        first = alternatives(sorted(mixers, key="attention".__eq__))
        both = f"{first} and then" if first == "attention" else f"first {first}, then"
        which = {
            1: "The single sublayer f is applied as",
            2: f"Each sublayer f, {both} the feed-forward network, is applied as",
            3: "Each sublayer f, self-attention, cross-attention to the encoder and then the feed-forward network, "
            "is applied as",
        }[sublayers]
        bare = " The first sublayer has no norm: ``x + f(x)``." if isinstance(norms[0], Identity) else ""
        return f"{which} ``x + f(norm(x))``, Xiong et al. 2020 [xiong2020], table 1.{bare}"

    def ended(self, ops: Operations, sublayer: str, y: Tensor) -> Tensor:
        y = ops.scale(f"{sublayer}_{self.scale}", y) if self.scale else y
        return ops.dropout(self.dropout, y) if self.dropout else y
