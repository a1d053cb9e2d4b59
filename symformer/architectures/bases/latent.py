"""Latent attention, in dense layers, or in dense layers followed by layers with experts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from sympy import Integer

from ...components import Component, LatentAttention, LightningIndexer
from ...configs.config_fields import Field
from ...configs.field_mapping import Fields
from ...language.sizes import AtMost, Condition, Divides
from ...language.symbols import A, A_idx, D_idx, D_nope, D_rope, K, K_idx, R_q, X
from ..base_architecture import Variants
from .dense_first import DenseFirst
from .llama_like import LlamaLike

PAIRS: tuple[Condition, ...] = (Divides(Integer(2), D_rope),)
PAIRS_AND_EXPERTS: tuple[Condition, ...] = (*PAIRS, AtMost(K, X))
EXPERTS = Fields(
    fixed={"moe_layer_freq": (1,)},  # all layers after the dense ones have experts
    inert=(
        # the choice of experts, but not their number; the load-balancing loss; expert parallelism
        *("topk_method", "scoring_func", "aux_loss_alpha", "seq_aux", "ep_size"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class WithLatents(LlamaLike):
    """A decoder with latent attention."""

    constraints = PAIRS
    config = Fields(
        restated={"num_key_value_heads": A, "qk_head_dim": D_nope + D_rope},
        inert=("pretraining_tp",),  # the number of pieces of a linear layer in pretraining
    )
    turned = D_rope

    @property
    def latent_attention(self) -> LatentAttention:
        """Return latent attention with a query latent."""
        dropped = "attention_dropout" if self.attention_dropout else ""
        return LatentAttention(weight_dropout=dropped, softmax="float32")

    @property
    def attention(self) -> Component:
        return self.latent_attention


@dataclass(frozen=True, kw_only=True)
class LatentDense(WithLatents):
    """A decoder with latent attention, with or without a query latent."""

    config = Fields(nullable={"query_latent": R_q}, restated={"head_dim": D_rope})
    variants: ClassVar[Variants] = ({}, {"query_latent": False}, {"tied": True}, {"head": "none"})

    query_latent: bool = True

    @property
    def attention(self) -> Component:
        return replace(self.latent_attention, query_latent=self.query_latent)


@dataclass(frozen=True, kw_only=True)
class Latent(LatentDense, DenseFirst):
    """The base of DeepSeek-V2 and DeepSeek-V3."""

    constraints = PAIRS_AND_EXPERTS
    config = EXPERTS


@dataclass(frozen=True, kw_only=True)
class LatentExperts(WithLatents, DenseFirst):
    """A decoder that always has a query latent, and experts after its dense layers."""

    constraints = PAIRS_AND_EXPERTS
    config = EXPERTS


@dataclass(frozen=True, kw_only=True)
class SparseLatent(LatentExperts):
    """The base of DeepSeek-V3.2 and GLM-5: latent attention to the keys that an indexer chooses for each query."""

    constraints = (*PAIRS_AND_EXPERTS, AtMost(D_rope, D_idx))
    config = Fields(
        {
            A_idx: Field(("index_n_heads",), 64),
            D_idx: Field(("index_head_dim",), 128),
            K_idx: Field(("index_topk",), 2048),
        },
        fixed={"norm_topk_prob": (True,)},
        # the class replaces the first with the number of rotary dimensions; which elements form a pair
        inert=("head_dim", "rope_interleave", "indexer_rope_interleave"),
    )

    @property
    def attention(self) -> Component:
        return replace(self.latent_attention, indexer=LightningIndexer())
