"""GemmaLike: norms on both sides of each sublayer, which store their scale less one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ...components import Component, RMSNorm, SelfAttention
from ...configs.fields import Fields
from ...configs.places import Function, Switch
from ...ledger.facts import Activation, Tensor
from ...ledger.operations import Operations
from ..base import Variants, option
from .local_global import LocalGlobal
from .sandwich import Sandwich


@dataclass(frozen=True, kw_only=True)
class GemmaLike(LocalGlobal, Sandwich):
    """As Gemma 2 has it."""

    config = Fields(
        fixed={"use_bidirectional_attention": (False, None)},
        inert=(
            "query_pre_attn_scalar",  # a factor
            *("attn_logit_softcapping", "final_logit_softcapping"),  # elementwise, where that is counted at all
            "hidden_act",  # the class reads the function from 'hidden_activation'
        ),
    )
    variants: ClassVar[Variants] = ({}, {"tied": False}, {"head": "none"})

    tied: bool = option(Switch("tie_word_embeddings", True))
    activation: Activation = option(Function("hidden_activation", "gelu_pytorch_tanh"))

    @property
    def norm(self) -> Component:
        return RMSNorm(offset=True)

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, scale="number")

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        return ops.scale("embed_scale", super().embed(ops, tokens), "root")
