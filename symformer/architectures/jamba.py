"""Jamba."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, GatedMLP, MoE, PreNormBlock, SelectiveScan, SelfAttention
from ..components.moe import SOFTMAX_UNDIVIDED
from ..configs.periodic_layers import SPARSE, PeriodicLayers
from ..language.frozen import FrozenDict
from ..language.sizes import AtMost, Condition, Divides, Relations
from ..language.symbols import (
    A,
    D,
    E,
    G,
    H,
    H_ssm,
    K,
    K_conv,
    L,
    L_attn,
    L_dense,
    L_moe,
    L_ssm,
    L_ssm_d,
    N_state,
    R_dt,
    V,
    X,
)  # fmt: skip
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import (
    HEAD_WIDTH,
    NO_TABLE,
    Activation,
    BoolField,
    Field,
    Fields,
    Function,
    Names,
    ProbabilityField,
    WitnessSpec,
    option,
    usual,
)
from .bases.decoder import HubDecoder
from .bases.recurrent import INNER, RANK
from .bases.stacked import Stack

EXPERTS = {X: Field(("num_experts", "num_local_experts"), 16, absent=1), K: 2}
MIXER = {
    H_ssm: replace(INNER, names=("mamba_expand",)),
    N_state: Field(("mamba_d_state",), 16),
    R_dt: replace(RANK, names=("mamba_dt_rank",)),
    K_conv: Field(("mamba_d_conv",), 4),
}


@dataclass(frozen=True, kw_only=True)
class Jamba(HubDecoder):
    """Jamba, Lieber et al. 2024 [lieber2024], section 2: state-space mixers (Mamba), and attention without positions in
    one of eight layers. In every other layer, a mixture of experts replaces the MLP. The smallest models have no
    experts.

    The experts are as wide as the MLP. The order of the layers does not affect any count.

    >>> Jamba().formula("kv-cache")
    4*B*C*L_attn*G*D + 2*B*L_ssm*K_conv*H_ssm + 4*B*L_ssm*H_ssm*N_state
    """

    title = "Jamba"
    names = Names(norm="final_layernorm")
    config = Fields(
        usual({V: 65536, E: 4096, H: 14336, **EXPERTS, A: 32, G: 8, D: HEAD_WIDTH, **MIXER}),
        layers=PeriodicLayers(SPARSE, (), Field(("num_hidden_layers",), 32), "attn_layer_period"),
        nullable={"experts": X},
        needs={K: "experts"},
        fixed={"output_router_logits": (False,)},
        inert=(
            *(NO_TABLE, "router_aux_loss_coef", "num_logits_to_keep"),
            *("use_mamba_kernels", "use_mambapy", "use_associative_scan"),  # the code that runs the scan
        ),
    )
    witness = WitnessSpec("Jamba")
    variants = (
        {},
        {"tied": True, "experts": False},
        {"projection_bias": True, "convolution_bias": False},
        {"head": "none"},
    )

    experts: bool = True
    projection_bias: bool = option(BoolField("mamba_proj_bias", False))
    convolution_bias: bool = option(BoolField("mamba_conv_bias", True))
    activation: Activation = option(Function("hidden_act", "silu"))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.0))

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # depends on whether there are experts
        return (Divides(G, A), Divides(E, H_ssm), *((AtMost(K, X),) if self.experts else ()))

    @property
    def layer(self) -> PreNormBlock:
        return self.layer_with("mamba", self.mixer, GatedMLP(activation=self.activation))

    @property
    def stacks(self) -> tuple[Stack, ...]:
        dropped = "attention_dropout" if self.attention_dropout else ""
        attention = SelfAttention(bias=False, output_bias=False, softmax="float32", weight_dropout=dropped)
        mlp = GatedMLP(activation=self.activation)
        kinds = (Stack("attention_layers", L_attn, self.layer_with("self_attn", attention, mlp)),)
        if not self.experts:
            return (Stack("ssm_layers", L_ssm, self.layer), *kinds)
        moe = MoE(
            router="router",
            hidden=H,
            routing=SOFTMAX_UNDIVIDED,
            router_code="softmax, cast",
            activation=self.activation,
        )
        sparse = self.layer_with("mamba", self.mixer, moe)
        return (Stack("ssm_layers", L_ssm_d, self.layer), *kinds, Stack("moe_layers", L_moe, sparse))

    @property
    def totals(self) -> Relations:
        if not self.experts:
            return FrozenDict({L: L_ssm + L_attn})
        return FrozenDict({L: L_ssm_d + L_attn + L_moe, L_ssm: L_ssm_d + L_moe, L_dense: L_ssm_d + L_attn})

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.index("positions", 1, tokens.shape[1]),)  # the class passes them to every layer

    @property
    def mixer(self) -> Component:
        """Return the state-space mixer of a layer."""
        return SelectiveScan(
            bias=self.projection_bias,
            convolution_bias=self.convolution_bias,
            activation=self.activation,
            normalized=True,
            norm_scale=True,
        )

    def layer_with(self, name: str, mixer: Component, network: Component) -> PreNormBlock:
        """Return a layer with a state-space mixer or attention, under its name in torch, and its network."""
        parts = {"input_layernorm": self.norm, name: mixer, "pre_ff_layernorm": self.norm, "feed_forward": network}
        return PreNormBlock(parts=parts)
