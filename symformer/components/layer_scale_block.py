"""Pre-norm block with LayerScale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .base import Component
from .layer_norm import LayerNorm
from .layer_scale import LayerScale
from .mlp import MLP
from .pre_norm_block import ResidualBlock
from .self_attention import SelfAttention


@dataclass(frozen=True, kw_only=True)
class LayerScaleBlock(ResidualBlock):
    """Each sublayer f, attention and then the feed-forward network, is applied as ``x + λ · f(norm(x))``, Touvron et
    al. 2021 [touvron2021b], section 2.

    >>> LayerScaleBlock().params
    4*E**2 + 2*E*H + 11*E + H
    """

    title = "Pre-norm block with LayerScale"
    branch = ("norm", "sublayer", "scale")

    parts: Mapping[str, Component] = field(
        default_factory=lambda: {
            "norm1": LayerNorm(),
            "attention": SelfAttention(causal=False),
            "layer_scale1": LayerScale(),
            "norm2": LayerNorm(),
            "mlp": MLP(),
            "layer_scale2": LayerScale(),
        }
    )
