"""Latent: latent attention, in dense layers, or in dense layers followed by layers with experts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sympy import Integer

from ...components import Component, LatentAttention
from ...configs.field_mapping import Fields
from ...language.sizes import AtMost, Condition, Divides
from ...language.symbols import A, D_nope, D_rope, K, R_q, X
from ..base_architecture import Variants
from .dense_first import DenseFirst
from .llama_like import LlamaLike

PAIRS: tuple[Condition, ...] = (Divides(Integer(2), D_rope),)
PAIRS_AND_EXPERTS: tuple[Condition, ...] = (*PAIRS, AtMost(K, X))


@dataclass(frozen=True, kw_only=True)
class LatentDense(LlamaLike):
    """A decoder with latent attention, with or without a query latent."""

    constraints = PAIRS
    config = Fields(
        nullable={"query_latent": R_q},
        restated={"num_key_value_heads": A, "head_dim": D_rope, "qk_head_dim": D_nope + D_rope},
        inert=("pretraining_tp",),  # the number of pieces of a linear layer in pretraining
    )
    variants: ClassVar[Variants] = ({}, {"query_latent": False}, {"tied": True}, {"head": "none"})
    turned = D_rope

    query_latent: bool = True

    @property
    def attention(self) -> Component:
        dropped = "attention_dropout" if self.attention_dropout else ""
        return LatentAttention(query_latent=self.query_latent, weight_dropout=dropped, softmax="float32")


@dataclass(frozen=True, kw_only=True)
class Latent(LatentDense, DenseFirst):
    """The base of DeepSeek-V2 and DeepSeek-V3."""

    constraints = PAIRS_AND_EXPERTS
    config = Fields(
        fixed={"moe_layer_freq": (1,)},  # all layers after the dense ones have experts
        inert=(
            # the choice of experts, but not their number; the load-balancing loss; expert parallelism
            *("topk_method", "scoring_func", "aux_loss_alpha", "seq_aux", "ep_size"),
        ),
    )
