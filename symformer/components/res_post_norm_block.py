"""Block with a norm on each residual branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .base import Component
from .gated_mlp import GatedMLP
from .pre_norm_block import ResidualBlock
from .rms_norm import RMSNorm
from .self_attention import SelfAttention


@dataclass(frozen=True, kw_only=True)
class ResPostNormBlock(ResidualBlock):
    """Each sublayer f, attention and then the feed-forward network, is applied as ``x + norm(f(x))``, Liu et al. 2022
    [liu2022], section 3.2.

    >>> ResPostNormBlock().params
    4*E**2 + 3*E*H + 6*E
    """

    title = "Res-post-norm block"
    branch = ("sublayer", "norm")

    parts: Mapping[str, Component] = field(
        default_factory=lambda: {
            "self_attn": SelfAttention(),
            "post_attention_layernorm": RMSNorm(),
            "mlp": GatedMLP(),
            "post_feedforward_layernorm": RMSNorm(),
        }
    )
