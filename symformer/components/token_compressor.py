"""The compression of tokens to fewer entries, for attention."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Integer

from ..language.notation.text import text
from ..language.symbols import C_hca, D, D_rope
from ..ledger.facts import HALF_ROTARY, Tensor
from ..ledger.operations import Operations
from .base import Component
from .rms_norm import RMSNorm

APART = (
    "Each entry contains the tokens of its group alone, DeepSeek-AI 2026 [deepseek2026], section 2.3.2, eqs. 20 to 23."
)
OVERLAPPING = (
    "Each entry contains the tokens of its group and of the preceding one, which have projections of their own, "
    "DeepSeek-AI 2026 [deepseek2026], section 2.3.1, eqs. 9 to 12."
)


@dataclass(frozen=True, kw_only=True)
class TokenCompressor(Component):
    """One key of width D, which is also the value, for each group of tokens. It is a weighted sum of projections of the
    tokens; the weights are a softmax over the group, per element, of another projection plus a stored bias of each
    position in the group. The sum is normalized and rotated by the position of the group's first token.

    The tokens of an incomplete group have no entry.

    >>> TokenCompressor().params
    C_hca*D + 2*E*D + D
    >>> from symformer.language.symbols import C_csa
    >>> TokenCompressor(rate=C_csa, overlapping=True).params
    2*C_csa*D + 4*E*D + D
    """

    title = "Token compressor"
    role = "attention"
    purpose = "Each group of tokens becomes a single entry of the cache."

    rate: Expr = C_hca  # the number of tokens of each group
    head_width: Expr = D
    overlapping: bool = False  # whether an entry also contains the tokens of the preceding group

    @property
    def shapes(self) -> str:  # type: ignore[override]  # depends on the number of tokens of each group
        return f"x[B,S,E] -> y[B,1,floor(S/{self.rate}),{text(self.head_width)}]"

    @property
    def about(self) -> str:
        """Return the description, with the tokens of an entry."""
        return f"{super().about} {OVERLAPPING if self.overlapping else APART}"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return compressed(ops, x, self.rate, self.head_width, self.overlapping)


def compressed(ops: Operations, x: Tensor, rate: Expr, head_width: Expr, overlapping: bool) -> Tensor:
    """Return one key [B,1,⌊S/m⌋,D] for each group of m tokens of x[B,S,E]."""
    width = head_width * (2 if overlapping else 1)
    bias = ops.parameter("", position_bias=(rate, width))
    projected = ops.linear("kv_proj", x, width, bias=False)
    gates = ops.linear("gate_proj", x, width, bias=False)
    entries = ops.compress("compress", projected, gates, rate, bias, overlapping=overlapping)
    keys = ops.heads(ops.call("kv_norm", RMSNorm(late=True), entries), Integer(1), head_width)
    angles = ops.positions("rotary_emb", entries.shape[1], D_rope, HALF_ROTARY)
    return ops.rotate("rotary_entries", keys, angles, compressed=rate)
