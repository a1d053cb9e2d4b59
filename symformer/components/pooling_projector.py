"""Projector that pools the patches of an image."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.sizes import Divides
from ..language.symbols import E, E_vis, Z, Z_patch, Z_pool
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component
from .rms_norm import RMSNorm


@dataclass(frozen=True, kw_only=True)
class PoolingProjector(Component):
    """The mean of each square of neighbouring patches, so that Z_pool² tokens of each image remain, a norm, and a
    projection to the width of the language model, Gemma Team 2025 [gemma2025], section 2.1.

    >>> PoolingProjector().params
    E*E_vis + E_vis
    """

    title = "Pooling projector"
    role = "other"
    purpose = "The projector turns image features into tokens of the language model."
    tower = "projector"
    shapes = "x[B,Z**2/Z_patch**2,E_vis] -> y[B,Z_pool**2,E]"
    constraints = (Divides(Z_patch * Z_pool, Z),)

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        pooled = ops.pool("avg_pool", x, Z_pool**2)
        normed = ops.call("mm_soft_emb_norm", RMSNorm(offset=True), pooled)
        weight = ops.parameter("", mm_input_projection_weight=(E, E_vis))["mm_input_projection_weight"]
        return ops.linear("", normed, E, bias=False, shared={"weight": weight}, module=False)
