"""Self-attention over an image with relative positions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr

from ..language.notation.text import text
from ..language.sizes import Divides
from ..language.symbols import A, E, Z, Z_patch
from ..ledger.facts import ONE, Tensor
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component


@dataclass(frozen=True, kw_only=True)
class ImageAttention(Component):
    """Multi-head attention over the patches of an image, with relative positions by row and by column, Li et al. 2022
    [li2022], section 4.1, eq. 4: a score also has the products of the query with two learned vectors, for the distances
    in rows and in columns.

    >>> ImageAttention().params  # doctest: +NORMALIZE_WHITESPACE
    4*E**2 + 4*E - 2*E/A + 4*E*Z/(A*Z_patch)
    """

    title = "Attention over an image"
    role = "attention"
    purpose = "Attention lets each patch of the image read from other patches."
    constraints = (Divides(A, E), Divides(Z_patch, Z))

    heads: Expr = A
    head_width: Expr = E / A
    side: Expr = Z / Z_patch  # the patches per side of the image
    window: Expr | None = None  # the tokens per side of a window, if a patch attends only within its window
    bias: bool = True  # of queries, keys and values
    relative: bool = True  # whether it has relative positions
    dropout: str = ""  # the name of the dropout on the attention weights, or ""

    @property
    def shapes(self) -> str:  # type: ignore[override]  # depends on the image
        return f"x[B,{self.side**2},E] -> y[B,{self.side**2},E]"

    @property
    def about(self) -> str:
        """Return the description: whether it has relative positions, and windows."""
        said = super().about
        if not self.relative:
            said = (
                "Multi-head attention over the patches of an image, Vaswani et al. 2017 [vaswani2017], section 3.2.2."
            )
        if self.window is None:
            return said
        return (
            f"{said} A patch sees only the patches of its window of {text(self.window)} by {text(self.window)}; zeros "
            "fill up the last windows, Li et al. 2022 [li2022b], section 3."
        )

    def split(self, cut: Cut) -> ImageAttention:
        return replace(self, heads=cut.share(self.heads))

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        batch, width = x.shape[0], self.heads * self.head_width
        out, side = x.width, self.side if self.window is None else self.window
        if self.window is not None:
            x = ops.windows("windows", x, self.side, self.window)
        joint = ops.linear("qkv", x, 3 * width, bias=self.bias)
        q, k, v = (ops.heads(each, self.heads, self.head_width) for each in ops.split(joint, (width, width, width)))
        scores = ops.scores("scores", q, k, "none", scale="queries")
        if self.relative:
            rows = ops.distance_scores("rows", q, self._table(ops, "rel_pos_h", side), side, "rows")
            columns = ops.distance_scores("columns", q, self._table(ops, "rel_pos_w", side), side, "columns")
            rows, columns = rows.view((*rows.shape, ONE)), columns.view((*columns.shape[:3], ONE, side))
            distances = ops.add("distances", rows, columns)
            scores = ops.add("relative_scores", scores, distances.view(scores.shape))
        weights = ops.softmax("softmax", scores, "float32")
        if self.dropout:
            weights = ops.dropout(self.dropout, weights)
        y = ops.linear("proj", ops.merge(ops.weighted_values("mix", weights, v, "none")), out)
        return y if self.window is None else ops.without_windows("square", y, batch, self.side)

    def _table(self, ops: Operations, name: str, side: Expr) -> Tensor:
        return ops.learned(name, 2 * side - 1, self.head_width)
