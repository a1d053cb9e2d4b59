"""Sparse: LlamaLike with K of X experts per token instead of a feed-forward network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ...components import Component, MoE
from ...components.moe import SOFTMAX, SOFTMAX_MAYBE_DIVIDED
from ...configs.config_fields import BoolField
from ...configs.field_mapping import Fields
from ...configs.usual_fields import NO_WINDOW
from ...language.sizes import AtMost
from ...language.symbols import K, X
from ..base_architecture import option
from .llama_like import ROTARY_HEADS, LlamaLike


@dataclass(frozen=True, kw_only=True)
class Sparse(LlamaLike):
    """A decoder whose layers have experts, as in Mixtral."""

    constraints = (*ROTARY_HEADS, AtMost(K, X))
    routing: ClassVar[str] = SOFTMAX
    router_code: ClassVar[str] = "softmax"

    @property
    def mlp(self) -> Component:
        return self.experts

    @property
    def experts(self) -> MoE:
        """Return the experts of a layer, without a shared expert."""
        return MoE(activation=self.activation, routing=self.routing, router_code=self.router_code)


@dataclass(frozen=True, kw_only=True)
class MaybeDivided(Sparse):
    """A decoder with experts whose weights are divided by their sum if the config says so."""

    routing = SOFTMAX_MAYBE_DIVIDED

    norm_topk_prob: bool = option(BoolField("norm_topk_prob", False))

    @property
    def experts(self) -> MoE:
        code = "softmax, divided, cast" if self.norm_topk_prob else "softmax, cast"
        return replace(super().experts, router_code=code)


@dataclass(frozen=True, kw_only=True)
class SparseThroughout(Sparse):
    """A decoder with experts in every layer and without a load-balancing loss, as in Qwen."""

    routing = SOFTMAX_MAYBE_DIVIDED
    config = Fields(
        fixed={"output_router_logits": (False,), "decoder_sparse_step": (1,), "mlp_only_layers": ([], None)},
        # the width of layers without experts; the weight of that loss; whether the weights of experts sum to 1
        inert=(*NO_WINDOW, "intermediate_size", "router_aux_loss_coef", "norm_topk_prob"),
    )
