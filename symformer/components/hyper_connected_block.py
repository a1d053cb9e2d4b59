"""A block with several residual streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component, inputs_for
from .gated_mlp import GatedMLP
from .hyper_connection import HyperConnection
from .pre_norm_block import ResidualBlock
from .rms_norm import RMSNorm
from .self_attention import SelfAttention


@dataclass(frozen=True, kw_only=True)
class HyperConnectedBlock(ResidualBlock):
    """Attention and then the feed-forward network between N_hc residual streams, Xie et al. 2025 [xie2025], section 4:
    each sublayer reads the norm of a weighted sum of the streams, the streams are mixed, and the output of the
    sublayer, times a weight of each stream, is added to them. A hyper-connection computes all weights for each token.

    >>> HyperConnectedBlock().formula("flops").part("attn_mixed")
    2*B*S*N_hc**2*E
    """

    title = "Hyper-connected block"
    shapes = "x[B,S,N_hc,E] -> y[B,S,N_hc,E]"
    branch = ("connection", "norm", "sublayer")

    parts: Mapping[str, Component] = field(
        default_factory=lambda: {
            "attn_hc": HyperConnection(),
            "input_layernorm": RMSNorm(),
            "self_attn": SelfAttention(),
            "ffn_hc": HyperConnection(),
            "post_attention_layernorm": RMSNorm(),
            "mlp": GatedMLP(),
        }
    )

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        parts, streams = list(self.parts.items()), x.shape[2]
        for (hc, connection), (norm_name, norm), (name, sublayer) in zip(*(parts[i::3] for i in range(3)), strict=True):
            own = hc.removesuffix("_hc")
            weights = ops.call(hc, connection, x)
            before, after, mixing = ops.split(weights, (streams, streams, streams**2))
            y = ops.call(norm_name, norm, ops.collapse_streams(f"{own}_input", x, before))
            y = ops.call(name, sublayer, *inputs_for(sublayer, y, context))
            mixed = ops.mix_streams(f"{own}_mixed", x, mixing)
            x = ops.add(f"{own}_residual", ops.expand_streams(f"{own}_output", y, after), mixed)
        return x
