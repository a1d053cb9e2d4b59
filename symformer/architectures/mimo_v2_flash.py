"""MiMo-V2-Flash."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components import MoE, SelfAttention
from ..configs.config_fields import EarlierTokensField, KindFractionField
from ..configs.rotary import PARTLY
from ..configs.windowed_expert_layers import WindowedExpertLayers
from ..language.frozen import FrozenDict
from ..language.sizes import AtMost, Divides, Relations
from ..language.symbols import (
    A,
    C_win,
    D,
    D_rope,
    D_v,
    E,
    G,
    H,
    K,
    L,
    L_dense,
    L_glo_x,
    L_global,
    L_local,
    L_moe,
    M,
    V,
    X,
)
from ..ledger.facts import SHIFTED_SOFTMAX, Tensor
from ..ledger.operations import Operations
from .base_architecture import BoolField, Field, Fields, WitnessSpec, option, usual
from .bases.dense_first import DenseFirst
from .bases.local_global import ROTARY_KINDS
from .bases.stacked import Stack
from .bases.windowed import WINDOW

KINDS = ("full_attention", "sliding_attention")
EXPERTS = {M: 2048, X: Field(("n_routed_experts", "num_local_experts"), 256), K: 8}
HEADS = {A: 64, G: 4, D: 192, D_rope: KindFractionField(("rope_parameters",), of=D, part=0.334, kinds=KINDS), D_v: 128}


@dataclass(frozen=True, kw_only=True)
class MiMoV2Flash(DenseFirst):
    """MiMo-V2-Flash, Xiaomi LLM-Core Team 2026 [xiaomi2026], section 2: five layers with a short sliding window per
    layer without one, and experts in all layers but the first. Layers with a window have twice as many key/value heads
    and attention sinks. Values have their own width and are multiplied by a constant. Rotary positions apply to part of
    each head. There is no module for multi-token prediction, as in the transformers class.

    >>> MiMoV2Flash().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*L_local*G*D_v*min(C, C_win - 1) + 2*B*C*L_global*G*D + 2*B*C*L_global*G*D_v
    """

    title = "MiMo-V2-Flash"
    order = "any"
    constraints = (Divides(2 * G, A), Divides(Integer(2), D_rope), AtMost(D_rope, D), AtMost(K, X), WINDOW)
    turned = D_rope
    config = Fields(
        usual({V: 152576, E: 4096, H: 16384, **EXPERTS, **HEADS, C_win: EarlierTokensField(("sliding_window",), 129)}),
        layers=WindowedExpertLayers({"dense": L_dense, "sliding_attention": L_local, "full_attention": L_glo_x}),
        # fields of the released config that the class does not read
        restated={
            **{
                "swa_num_attention_heads": A,
                "swa_num_key_value_heads": 2 * G,
                "swa_head_dim": D,
                "swa_v_head_dim": D_v,
            },
        },
        fixed={
            **{"norm_topk_prob": (True,), "n_shared_experts": (None,)},
            **{"add_swa_attention_sink_bias": (True,), "add_full_attention_sink_bias": (False,)},
        },
        ropes=("default",),
        apiece=KINDS,
        inert=(
            "attention_value_scale",
            PARTLY,
            "swa_rope_theta",
            "attention_chunk_size",
            "topk_method",
            "scoring_func",
        ),
    )
    # With one group, any number of experts is valid.
    witness = WitnessSpec(
        "MiMoV2Flash",
        functions=("attention_dropout", *ROTARY_KINDS),
        arguments={"n_group": 1, "topk_group": 1},
        accepts_sdpa=False,
    )
    variants = ({}, {"attention_bias": True}, {"tied": True}, {"head": "none"})

    attention_bias: bool = option(BoolField("attention_bias", False))

    @property
    def attention(self) -> SelfAttention:
        return replace(
            self.rotary_attention,
            bias=self.attention_bias,
            value_width=D_v,
            value_factor="attention_value_scale",
            softmax=SHIFTED_SOFTMAX,
        )

    @property
    def experts(self) -> MoE:
        """Return the experts of a layer, without a shared expert."""
        return MoE(activation=self.activation, routing=self.routing, router_code=self.router_code)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        windowed = replace(self.attention, kv_heads=2 * G, window=C_win, sinks="sinks")
        return (
            Stack("dense_layers", L_dense, self.layer),
            Stack("local_layers", L_local, self.layer_of(windowed, self.experts)),
            Stack("global_layers", L_glo_x, self.layer_of(self.attention, self.experts)),
        )

    @property
    def totals(self) -> Relations:
        both = {L_global: L_dense + L_glo_x, L_moe: L_local + L_glo_x}
        return FrozenDict({L: L_dense + L_local + L_glo_x, **both})

    def contexts(self, ops: Operations, tokens: Tensor) -> tuple[tuple[Tensor, ...], ...]:
        whole, windowed = (self.angles(ops, tokens, f"rotary_emb.{kind}") for kind in ("global", "local"))
        return (whole,), (windowed,), (whole,)
