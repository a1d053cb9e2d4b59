"""Post-norm block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..language.sizes import Divides
from ..language.symbols import A, E
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component, inputs_for
from .layer_norm import LayerNorm
from .mlp import MLP
from .self_attention import SelfAttention


def feed_forward(bias: bool) -> MLP:
    """Return the feed-forward network of torch.nn's layers, whose modules are attributes of the layer itself."""
    return MLP(bias=bias, activation="relu", up="linear1", act="activation", inner_dropout="dropout", down="linear2")


def encoder_parts(bias: bool = True) -> dict[str, Component]:
    """Return the parts of torch.nn.TransformerEncoderLayer by their names in torch."""
    attention = SelfAttention(
        kv_heads=A,
        head_width=E / A,
        bias=bias,
        output_bias=bias,
        causal=False,
        fused="in_proj",
        fused_module=False,
        output="out_proj",
    )
    norm = LayerNorm(bias=bias)
    return {"self_attn": attention, "norm1": norm, "": feed_forward(bias), "norm2": norm}


@dataclass(frozen=True, kw_only=True)
class PostNormBlock(Component):
    """Each sublayer f in turn is applied as ``norm(x + f(x))``, Vaswani et al. 2017 [vaswani2017], section 3.1.

    >>> PostNormBlock().params
    4*E**2 + 2*E*H + 9*E + H
    """

    title = "Post-norm block"
    role = "block"
    shapes = "x[B,S,E] -> y[B,S,E]"
    constraints = (Divides(A, E),)

    # In execution order, with a norm after each sublayer, by their names in torch.
    parts: Mapping[str, Component] = field(default_factory=encoder_parts)
    dropouts: tuple[str, ...] = ("dropout1", "dropout2")  # after each sublayer; () if the sublayers have them

    @property
    def functions(self) -> tuple[str, ...]:
        return ("activation",)  # torch.nn's layers store a function

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        parts = list(self.parts.items())
        for index, ((name, sublayer), (norm, normalise)) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
            y = ops.call(name, sublayer, *inputs_for(sublayer, x, context))
            if self.dropouts:
                y = ops.dropout(self.dropouts[index], y)
            x = ops.call(norm, normalise, ops.add(f"{norm}_residual", x, y))
        return x
