"""A block of a text and an image with joint attention."""

from __future__ import annotations

from dataclasses import dataclass, field

from sympy import Expr

from ..language.notation.text import text
from ..language.symbols import S_img, S_txt
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .adaptive_block import PLAIN_NORM, modulate, modulation
from .base import Component
from .joint_attention import JointAttention
from .mlp import MLP


@dataclass(frozen=True, kw_only=True)
class JointBlock(Component):
    """A block in which a text and an image have their own weights and one attention, Esser et al. 2024 [esser2024],
    section 4 and figure 2.

    Each of the two sequences is processed as in DiT: x + g·f(norm(x)·(1 + s) + b) for attention, then for its
    feed-forward network. A SiLU and a matrix compute its six vectors s, b and g from the conditioning vector c. The
    input and the output are both sequences, one after the other.

    >>> JointBlock().params
    20*E**2 + 4*E*H + 22*E + 2*H
    """

    title = "Joint block (MM-DiT)"
    role = "block"
    constraints = JointAttention.constraints

    attention: JointAttention = field(default_factory=JointAttention)
    mlp: Component = field(default_factory=MLP)
    image: Expr = S_img  # the number of tokens of the image

    @property
    def shapes(self) -> str:  # type: ignore[override]  # rotary angles are an additional input
        both = text(S_txt + self.image)
        angles = f", angles[2,{both},{text(self.attention.head_width)}]" if self.attention.rotated else ""
        return f"x[B,{both},E], c[B,E]{angles} -> y[B,{both},E]"

    def forward(self, ops: Operations, x: Tensor, c: Tensor, *angles: Tensor) -> Tensor:
        words, image = halves(ops, "input", x, self.image)
        read, (gate, *later) = adapted(ops, "norm1", image, c)
        heard, (text_gate, *text_later) = adapted(ops, "norm1_context", words, c)
        said, seen = halves(ops, "attn_output", ops.call("attn", self.attention, read, heard, *angles), self.image)
        image = ops.add("attn_residual", image, ops.multiply("attn_gate", seen, gate))
        words = ops.add("attn_residual_context", words, ops.multiply("attn_gate_context", said, text_gate))
        image = network(ops, "", image, self.mlp, *later)
        words = network(ops, "_context", words, self.mlp, *text_later)
        return ops.prepend("both", words, image)


def halves(ops: Operations, name: str, x: Tensor, image: Expr) -> tuple[Tensor, Tensor]:
    """Return the tokens of the text and of the image, of which x has one after the other."""
    words = ops.part_of_sequence(f"{name}_text", x, S_txt, "first")
    return words, ops.part_of_sequence(f"{name}_image", x, image, "last")


def adapted(ops: Operations, name: str, x: Tensor, c: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Return the scaled and shifted norm of x, and the four other vectors that are computed with scale and shift."""
    y = ops.call(f"{name}.norm", PLAIN_NORM, x)
    shift, scale, *others = modulation(ops, f"{name}.silu", f"{name}.linear", c, 6)
    return modulate(ops, name, y, shift, scale), others


def network(
    ops: Operations, suffix: str, x: Tensor, mlp: Component, shift: Tensor, scale: Tensor, gate: Tensor
) -> Tensor:
    """Return x with the gated output of the feed-forward network of its scaled and shifted norm added."""
    y = modulate(ops, f"norm2{suffix}", ops.call(f"norm2{suffix}", PLAIN_NORM, x), shift, scale)
    y = ops.multiply(f"ff_gate{suffix}", ops.call(f"ff{suffix}", mlp, y), gate)
    return ops.add(f"ff_residual{suffix}", x, y)
