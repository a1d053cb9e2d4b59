"""Llama 4."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components import Component, GatedMLP, MoE, RMSNorm, SelfAttention
from ..components.moe import SIGMOID_OF_CHOSEN
from ..configs.interleaved_layers import InterleavedLayers, Interleaving
from ..language.frozen import FrozenDict
from ..language.sizes import AtMost, Relations
from ..language.symbols import A, C_chunk, D, E, G, H, K, L, L_dense, L_global, L_loc_x, L_local, L_moe, M, V, X
from ..ledger.facts import COMPLEX_ROTARY
from .base_architecture import BoolField, Field, Fields, WitnessSpec, option, unknown, usual
from .bases.biased import Biased
from .bases.llama_like import ROTARY_HEADS
from .bases.stacked import Stack

EXPERTS = {H: Field(("intermediate_size_mlp",), 16384), M: Field(("intermediate_size",), 8192), X: 16, K: 1}
LAYERS = InterleavedLayers(
    {"chunked_attention": L_local, "full_attention": L_global}, (), Field(("num_hidden_layers",), 48)
)


@dataclass(frozen=True, kw_only=True)
class Llama4(Biased):
    """Llama 4, Meta 2025 [meta2025]: a mixture of experts with a shared expert. Three of four layers have rotary
    positions and attend within chunks; the fourth has no positions and attends to all earlier tokens. In Maverick,
    every other layer is dense.

    This is the language model only. FLOPs count the K experts that a token is routed to. The transformers class
    multiplies every token by the matrices of all X experts, with zeros as the inputs of the others, so FLOPs are
    compared at K = X.

    >>> Llama4().formula("active-params")
    3*L*E*K*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + 3*L*E*M + 2*L*E + 2*V*E + E
    >>> Llama4().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_chunk - 1) + 4*B*C*L_global*G*D
    """

    title = "Llama 4"
    compared_with = "llama"
    mlp_name = "feed_forward"
    tables = COMPLEX_ROTARY
    constraints = (*ROTARY_HEADS, AtMost(K, X), AtMost(Integer(2), C_chunk))
    config = Fields(
        usual({V: 202048, E: 5120, **EXPERTS, A: 40, G: 8, D: 128, C_chunk: 8192}),
        needs={H: "interleaved"},
        layers=LAYERS,
        model_types=("llama4_text",),
        classes={"Llama4ForCausalLM": {"head": "lm"}, "Llama4TextModel": {"head": "none"}},
        fixed={"output_router_logits": (False,)},
        inert=("router_aux_loss_coef", "router_jitter_noise", "attn_scale", "floor_scale", "for_llm_compressor"),
    )
    witness = WitnessSpec("Llama4Text", activation_refusal=unknown("its experts"), every_expert=True)
    variants = (*Biased.variants, {"interleaved": True, "qk_norm": False}, {"qk_norm": False})

    interleaved: bool = option(Interleaving(LAYERS))
    qk_norm: bool = option(BoolField("use_qk_norm", True))
    temperature: bool = option(BoolField("attn_temperature_tuning", True))

    @property
    def attention(self) -> SelfAttention:
        norm = RMSNorm(scale=False) if self.qk_norm else None
        return replace(
            self.rotary_attention,
            softmax="",
            window=C_chunk,
            chunked=True,
            rotated_norm=norm,
            query_norm="qk_norm",
            key_norm="qk_norm",
        )

    @property
    def mlp(self) -> Component:
        return GatedMLP(activation=self.activation, act="activation_fn")

    @property
    def stacks(self) -> tuple[Stack, ...]:
        whole = replace(self.attention, window=None, chunked=False, positions=None, rotated_norm=None)
        whole = replace(whole, temperature="temperature" if self.temperature else "")
        local, every = self.layer_of(self.attention, self.experts), self.layer_of(whole, self.experts)
        if not self.interleaved:
            return (Stack("local_layers", L_local, local), Stack("global_layers", L_global, every))
        return (
            Stack("dense_layers", L_dense, self.layer_of(self.attention, self.mlp)),
            Stack("local_layers", L_loc_x, local),
            Stack("global_layers", L_global, every),
        )

    @property
    def totals(self) -> Relations:
        if not self.interleaved:
            return FrozenDict({L: L_local + L_global})
        local, sparse = {L_local: L_dense + L_loc_x}, {L_moe: L_loc_x + L_global}
        return FrozenDict({L: L_dense + L_loc_x + L_global, **local, **sparse})

    @property
    def experts(self) -> MoE:
        """Return the experts of a layer, with a shared expert."""
        shared = GatedMLP(hidden=M, activation=self.activation, act="activation_fn")
        routed = MoE(router="router", routing=SIGMOID_OF_CHOSEN, weighted_inputs=True, activation=self.activation)
        return replace(routed, shared=shared, beside="shared_expert")
