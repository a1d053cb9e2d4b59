"""Decoder block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..language.symbols import A, E
from .base import Component
from .cross_attention import CrossAttention
from .layer_norm import LayerNorm
from .post_norm_block import PostNormBlock, feed_forward
from .self_attention import SelfAttention


def decoder_parts(bias: bool = True) -> dict[str, Component]:
    """Return the parts of torch.nn.TransformerDecoderLayer by their names in torch."""
    facts = {"kv_heads": A, "head_width": E / A, "bias": bias, "output_bias": bias, "output": "out_proj"}
    norm = LayerNorm(bias=bias)
    return {
        "self_attn": SelfAttention(**facts, fused="in_proj", fused_module=False),
        "norm1": norm,
        "multihead_attn": CrossAttention(**facts, fused="in_proj"),
        "norm2": norm,
        "": feed_forward(bias),
        "norm3": norm,
    }


@dataclass(frozen=True, kw_only=True)
class DecoderBlock(PostNormBlock):
    """Self-attention, cross-attention to the encoder and a feed-forward network, Vaswani et al. 2017 [vaswani2017],
    section 3.1.

    >>> DecoderBlock().params
    8*E**2 + 2*E*H + 15*E + H
    """

    title = "Decoder block"
    shapes = "x[B,S,E], memory[B,S_enc,E] -> y[B,S,E]"
    further_inputs = {"memory": "is the output of the encoder"}

    parts: Mapping[str, Component] = field(default_factory=decoder_parts)
    dropouts: tuple[str, ...] = ("dropout1", "dropout2", "dropout3")
