"""Granite 4 hybrid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..components import ChunkedScan, Component, GatedMLP, MoE, ParallelSum, PreNormBlock
from ..components.moe import SOFTMAX_OF_CHOSEN
from ..language.sizes import AtMost, Condition, Divides
from ..language.symbols import A, A_ssm, D, D_ssm, E, G, H, K, L_attn, L_ssm, M, V, X
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import HEAD_WIDTH, Choice, Field, Fields, Layers, WitnessSpec, option, usual
from .bases.hybrid import HYBRID_MIXER, MixedHybrid
from .bases.llama_like import ROTARY_HEADS
from .bases.multiplied import Multiplied

EXPERTS = {
    M: Field(("intermediate_size",), 11008),
    X: Field(("num_local_experts",), 8, absent=0),
    K: Field(("num_experts_per_tok",), 2, absent=0),
}
KINDS = {"linear_attention": L_ssm, "full_attention": L_attn}


@dataclass(frozen=True, kw_only=True)
class GraniteMoEHybrid(Multiplied, MixedHybrid):
    """Granite 4.0, IBM 2025 [ibm2025]: state-space mixers (Mamba-2), attention in some layers, and an MLP, alone or
    next to experts.

    As in Granite 3, constant factors scale four kinds of tensors. The released models have no positions. The order of
    the layers does not affect any count.

    >>> GraniteMoEHybrid().formula("kv-cache")
    4*B*C*L_attn*G*D + 2*B*L_ssm*K_conv*A_ssm*D_ssm + 4*B*L_ssm*K_conv*G_ssm*N_state + 4*B*L_ssm*A_ssm*D_ssm*N_state
    """

    title = "Granite 4 hybrid"
    config = Fields(
        usual(
            {
                **{V: 32000, E: 4096, H: Field(("shared_intermediate_size",), 1024), **EXPERTS},
                **{A: 32, G: A, D: HEAD_WIDTH, **HYBRID_MIXER},
            }
        ),
        layers=Layers(KINDS, ("linear_attention",), Field(("num_hidden_layers",), 32)),
        nullable={"experts": X},
        needs={M: "experts", K: "experts"},
        restated={"mamba_expand": A_ssm * D_ssm / E},
        fixed={"output_router_logits": (False,), "normalization_function": ("rmsnorm",)},
        inert=("router_aux_loss_coef", "init_method"),
    )
    witness = WitnessSpec(
        "GraniteMoeHybrid", arguments={"mamba_expand": A_ssm * D_ssm / E}, conditions=(Divides(E, D_ssm),)
    )
    variants = (
        {},
        {"tied": True},
        {"tied": True, "experts": False},
        {"rotary": True, "attention_bias": True, "projection_bias": True, "convolution_bias": False},
        {"head": "none"},
    )

    experts: bool = True
    rotary: bool = option(Choice("position_embedding_type", {None: False, "nope": False, "rope": True}, None))

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # depends on whether there are experts
        # Also without positions, the class requires an even head dimension.
        return (*ROTARY_HEADS, *ChunkedScan.constraints, *((AtMost(K, X),) if self.experts else ()))

    @property
    def attention(self) -> Component:
        found = self.rotary_attention
        return found if self.rotary else replace(found, positions=None)

    @property
    def mlp(self) -> Component:
        return GatedMLP(activation=self.activation, fused="input_linear", act="activation", down="output_linear")

    @property
    def networks(self) -> Mapping[str, Component]:
        moe = MoE(
            router="router",
            routing=SOFTMAX_OF_CHOSEN,
            router_code="softmax of chosen, cast",
            activation=self.activation,
        )
        both = ParallelSum(parts={"block_sparse_moe": moe, "shared_mlp": self.mlp})
        network: dict[str, Component] = {"": both} if self.experts else {"shared_mlp": self.mlp}
        return {"post_attention_layernorm": self.norm, **network}

    def layer_with(self, name: str, mixer: Component) -> PreNormBlock:
        return replace(super().layer_with(name, mixer), scale="residual_multiplier")

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return super().context(ops, tokens) if self.rotary else ()
