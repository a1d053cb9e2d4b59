"""GemmaLike: norms before and after each sublayer, which store their scale minus one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...components import Component, RMSNorm
from ...configs.config_fields import BoolField, Function
from ...configs.field_mapping import Fields
from ...ledger.facts import Activation
from ..base_architecture import Variants, option
from .local_global import LocalGlobal
from .sandwich import Sandwich


@dataclass(frozen=True, kw_only=True)
class GemmaLike(LocalGlobal, Sandwich):
    """The base of Gemma 2 and Gemma 3."""

    config = Fields(
        fixed={"use_bidirectional_attention": (False, None)},
        inert=(
            "query_pre_attn_scalar",  # a factor
            *("attn_logit_softcapping", "final_logit_softcapping"),  # elementwise
            "hidden_act",  # the class reads the function from 'hidden_activation'
        ),
    )
    scale = "number"
    rooted = True
    variants: ClassVar[Variants] = ({}, {"tied": False}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))
    activation: Activation = option(Function("hidden_activation", "gelu_pytorch_tanh"))

    @property
    def norm(self) -> Component:
        return RMSNorm(offset=True)
