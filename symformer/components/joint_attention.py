"""Attention of the tokens of a text and an image together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr

from ..language.sizes import Divides
from ..language.symbols import A, E, S_img, S_txt
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component


@dataclass(frozen=True, kw_only=True)
class JointAttention(Component):
    """Attention over the tokens of a text and of an image together, Esser et al. 2024 [esser2024], section 4.

    The text and the image have their own projections. Their queries, keys and values are concatenated, so that every
    token attends to every token. Its A heads have E/A elements each.

    >>> JointAttention().params
    8*E**2 + 8*E
    """

    title = "Joint attention"
    role = "attention"
    further_inputs = {"t": "are the tokens of the prompt"}
    purpose = "A single attention lets text and image read from each other."
    constraints = (Divides(A, E),)

    heads: Expr = A
    head_width: Expr = E / A
    head_norm: Component | None = None  # of queries and keys, over each head separately
    rotated: bool = False  # whether queries and keys are rotated by their positions
    image: Expr = S_img  # the number of tokens of the image
    text_output: bool = True  # whether the text has an output, too

    @property
    def shapes(self) -> str:  # type: ignore[override]  # rotary angles are an additional input
        both, image = S_txt + self.image, self.image
        angles = f", angles[2,{both},{self.head_width}]" if self.rotated else ""
        return f"x[B,{image},E], t[B,S_txt,E]{angles} -> y[B,{both if self.text_output else image},E]"

    @property
    def about(self) -> str:
        """Return the description, with the norms and the rotation."""
        said = super().about
        if self.head_norm is not None:
            said += " Queries and keys are normalized, Henry et al. 2020 [henry2020], section 3, each head separately."
        if self.rotated:
            said += " Queries and keys are rotated by their positions, Su et al. 2021 [su2021], eq. 34."
        return said if self.text_output else f"{said} Only the image has an output."

    def split(self, cut: Cut) -> JointAttention:
        return replace(self, heads=cut.share(self.heads))

    def forward(self, ops: Operations, x: Tensor, words: Tensor, *angles: Tensor) -> Tensor:
        of_image = self.projected(ops, x, ("to_q", "to_k", "to_v"), ("norm_q", "norm_k"))
        of_text = self.projected(
            ops, words, ("add_q_proj", "add_k_proj", "add_v_proj"), ("norm_added_q", "norm_added_k")
        )
        pairs = zip(("query", "key", "value"), of_text, of_image, strict=True)
        joined = (ops.prepend(name, first, last) for name, first, last in pairs)
        q, k, v = (ops.heads(each, self.heads, self.head_width) for each in joined)
        for each in angles:
            q, k = ops.rotate("rotary_query", q, each), ops.rotate("rotary_key", k, each)
        weights = ops.softmax("softmax", ops.scores("scores", q, k, "none"))
        y = ops.merge(ops.weighted_values("mix", weights, v, "none"))
        image = ops.linear("to_out.0", ops.part_of_sequence("of_image", y, x.shape[1], "last"), x.width)
        if not self.text_output:
            return image
        first = ops.part_of_sequence("of_text", y, words.shape[1], "first")
        return ops.prepend("both", ops.linear("to_add_out", first, words.width), image)

    def projected(
        self, ops: Operations, x: Tensor, names: tuple[str, ...], norms: tuple[str, ...]
    ) -> tuple[Tensor, ...]:
        """Return the queries, keys and values [B,S,E] of one of the two sequences."""
        made = [ops.linear(name, x, self.heads * self.head_width) for name in names]
        if self.head_norm is not None:
            for place, name in enumerate(norms):
                y = ops.call(name, self.head_norm, ops.heads(made[place], self.heads, self.head_width))
                made[place] = ops.merge(y)
        return tuple(made)
