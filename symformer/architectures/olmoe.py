"""OLMoE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.moe import MoE
from ..language.sizes import AtMost, Divides
from ..language.symbols import A, E, G, K, L, M, V, X
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Field, Fields, Switch, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS, LlamaLike

EXPERTS = {X: Field(("num_experts", "num_local_experts"), 64), K: 8, M: Field(("intermediate_size",), 2048)}


@dataclass(frozen=True, kw_only=True)
class OLMoE(LlamaLike):
    """OLMoE, Muennighoff et al. 2024 [muennighoff2024], section 2: K of X small experts, norms on queries and keys.

    >>> OLMoE().formula("active-params").partial(G="A")
    3*L*E*K*M + 4*L*E**2 + L*E*X + 4*L*E + 2*V*E + E
    """

    title = "OLMoE"
    constraints = (Divides(2 * A, E), Divides(G, A), AtMost(K, X))  # a head, of width E/A, turns in pairs of elements
    fields = Fields(
        usual({V: 50304, E: 2048, **EXPERTS, L: 16, A: 16, G: A}),
        {**OPTIONS, "attention_bias": Switch("attention_bias", False)},
        model_types=("olmoe",),
        classes=heads("Olmoe"),
        restated={"head_dim": E / A},  # which is what its norms are made for
        fixed={"clip_qkv": (None,), "output_router_logits": (False,)},
        rotary=True,
        inert=(NO_TABLE, "router_aux_loss_coef", "norm_topk_prob"),  # of a loss; what the weights of experts add up to
    )
    witness = Witness(
        "transformers", "OlmoeConfig", prefix="model.", arguments={"pad_token_id": 0}
    )  # a token of any table
    variants = ({}, {"tied": True}, {"attention_bias": True}, {"head": "none"})

    attention_bias: bool = False

    @property
    def attention(self) -> Component:
        bias = self.attention_bias
        return replace(self.rotary_attention, head_width=E / A, joint_norm=self.norm, bias=bias, output_bias=bias)

    @property
    def mlp(self) -> Component:
        return MoE(activation=self.activation)

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.positions("rotary_emb", tokens.shape[1], E / A, "rotary"),)
