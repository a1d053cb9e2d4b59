"""GemmaLike: norms before and after each sublayer, which store their scale minus one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ...components import Component, LMHead, RMSNorm
from ...configs.config_fields import BoolField, Function, OptionalNumberField
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
            "hidden_act",  # the class reads the function from 'hidden_activation'
        ),
    )
    scale = "number"
    rooted = True
    variants: ClassVar[Variants] = ({}, {"tied": False}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))
    activation: Activation = option(Function("hidden_activation", "gelu_pytorch_tanh"))
    capped_logits: bool = option(OptionalNumberField("final_logit_softcapping"))

    @property
    def norm(self) -> Component:
        return RMSNorm(offset=True)

    @property
    def lm_head(self) -> LMHead | None:
        head = super().lm_head
        return replace(head, capped=self.capped_logits) if head else head
