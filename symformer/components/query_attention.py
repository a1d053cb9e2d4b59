"""Attention of a learned query."""

from __future__ import annotations

from dataclasses import dataclass

from .cross_attention import CrossAttention


@dataclass(frozen=True, kw_only=True)
class QueryAttention(CrossAttention):
    """Attention with a learned query, and keys and values from the tokens of an image, Lee et al. 2019 [lee2019],
    section 3.2.

    >>> QueryAttention().params
    4*E**2 + 4*E
    """

    title = "Attention of a learned query"
    further_inputs = {"memory": "holds the tokens of the image"}
    purpose = "The learned query chooses from which tokens of the image to read."

    # as in torch.nn.MultiheadAttention
    fused: str = "in_proj"
    output: str = "out_proj"
