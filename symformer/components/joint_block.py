"""A block of a text and an image with joint attention."""

from __future__ import annotations

from dataclasses import dataclass, field

from sympy import Expr

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
    further_inputs = {"c": "is the embedding of the timestep and the other conditions"}
    constraints = JointAttention.constraints

    attention: JointAttention = field(default_factory=JointAttention)
    mlp: Component = field(default_factory=MLP)
    second: Component | None = None  # a second attention, of the image alone, with three further vectors
    image: Expr = S_img  # the number of tokens of the image
    last: bool = False  # whether it is the last block, in which the text has no output and no feed-forward network

    @property
    def shapes(self) -> str:  # type: ignore[override]  # rotary angles are an additional input
        both = S_txt + self.image
        angles = f", angles[2,{both},{self.attention.head_width}]" if self.attention.rotated else ""
        return f"x[B,{both},E], c[B,E]{angles} -> y[B,{both},E]"

    @property
    def about(self) -> str:
        """Return the description, with the second attention, and the parts that the last block lacks."""
        said = super().about
        if self.second is not None:
            said += " The image has a second attention, of its own tokens alone, whose output is added, too; three "
            said += "further vectors are its scale, its shift and its gate."
        if self.last:
            said += " In the last block, the text is only read: it has two vectors instead of six, no output of "
            said += "attention and no feed-forward network."
        return said

    def forward(self, ops: Operations, x: Tensor, c: Tensor, *angles: Tensor) -> Tensor:
        words, image = halves(ops, "input", x, self.image)
        y = ops.call("norm1.norm", PLAIN_NORM, image)
        vectors = modulation(ops, "norm1.silu", "norm1.linear", c, 6 if self.second is None else 9)
        shift, scale, gate, *later = vectors
        read = modulate(ops, "norm1", y, shift, scale)
        z = ops.call("norm1_context.norm", PLAIN_NORM, words)
        text_vectors = modulation(ops, "norm1_context.silu", "norm1_context.linear", c, 2 if self.last else 6)
        text_shift, text_scale = reversed(text_vectors[:2]) if self.last else text_vectors[:2]
        seen = ops.call(
            "attn", self.attention, read, modulate(ops, "norm1_context", z, text_shift, text_scale), *angles
        )
        said = words
        if not self.last:
            said, seen = halves(ops, "attn_output", seen, self.image)
        image = ops.add("attn_residual", image, ops.multiply("attn_gate", seen, gate))
        if self.second is not None:
            shift, scale, gate = later[3:]
            seen = ops.call("attn2", self.second, modulate(ops, "norm1.second", y, shift, scale))
            image = ops.add("attn2_residual", image, ops.multiply("attn2_gate", seen, gate))
        image = network(ops, "", image, self.mlp, *later[:3])
        if not self.last:
            gate, *text_later = text_vectors[2:]
            words = ops.add("attn_residual_context", words, ops.multiply("attn_gate_context", said, gate))
            words = network(ops, "_context", words, self.mlp, *text_later)
        return ops.prepend("both", words, image)


def halves(ops: Operations, name: str, x: Tensor, image: Expr) -> tuple[Tensor, Tensor]:
    """Return the tokens of the text and of the image, of which x has one after the other."""
    words = ops.part_of_sequence(f"{name}_text", x, S_txt, "first")
    return words, ops.part_of_sequence(f"{name}_image", x, image, "last")


def network(
    ops: Operations, suffix: str, x: Tensor, mlp: Component, shift: Tensor, scale: Tensor, gate: Tensor
) -> Tensor:
    """Return x with the gated output of the feed-forward network of its scaled and shifted norm added."""
    y = modulate(ops, f"norm2{suffix}", ops.call(f"norm2{suffix}", PLAIN_NORM, x), shift, scale)
    y = ops.multiply(f"ff_gate{suffix}", ops.call(f"ff{suffix}", mlp, y), gate)
    return ops.add(f"ff_residual{suffix}", x, y)
