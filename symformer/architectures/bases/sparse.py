"""Sparse: LlamaLike, with K of X experts a token in place of its feed-forward network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...components import Component, MoE
from ...components.moe import SOFTMAX, SOFTMAX_MAYBE_DIVIDED
from ...configs.fields import Fields
from ...configs.usual import NO_WINDOW
from ...language.sizes import AtMost
from ...language.symbols import K, X
from .llama_like import ROTARY_HEADS, LlamaLike


@dataclass(frozen=True, kw_only=True)
class Sparse(LlamaLike):
    """As Mixtral has it."""

    constraints = (*ROTARY_HEADS, AtMost(K, X))
    routing: ClassVar[str] = SOFTMAX

    @property
    def mlp(self) -> Component:
        return self.experts

    @property
    def experts(self) -> MoE:
        """The experts alone."""
        return MoE(activation=self.activation, routing=self.routing)


@dataclass(frozen=True, kw_only=True)
class SparseThroughout(Sparse):
    """As Qwen has it: every layer has experts, and nothing is added for the loss that balances them."""

    routing = SOFTMAX_MAYBE_DIVIDED
    config = Fields(
        fixed={"output_router_logits": (False,), "decoder_sparse_step": (1,), "mlp_only_layers": ([], None)},
        # the width of the layers without experts; a factor of that loss; what the weights of experts add up to
        inert=(*NO_WINDOW, "intermediate_size", "router_aux_loss_coef", "norm_topk_prob"),
    )
