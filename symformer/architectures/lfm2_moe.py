"""LFM2-MoE."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import MoE
from ..components.moe import SIGMOID_WITH_EXPERT_BIAS
from ..configs.dense_first_layers import DenseFirstLayers
from ..language.frozen import FrozenDict
from ..language.sizes import AtMost, Relations
from ..language.symbols import A, D, E, G, H, K, K_conv, L, L_attn, L_conv, L_conv_x, L_dense, L_moe, M, V, X
from .base_architecture import HEAD_WIDTH, Field, Fields, WitnessSpec, usual
from .bases.convolutional import Convolutional
from .bases.llama_like import ROTARY_HEADS
from .bases.stacked import Stack

SIZES = {H: 7168, M: 1792, X: Field(("num_experts",), 32), K: 4, K_conv: Field(("conv_L_cache",), 3)}


@dataclass(frozen=True, kw_only=True)
class LFM2MoE(Convolutional):
    """LFM2 with experts, Liquid AI 2025 [liquid2025], section 2.4: dense first layers with convolutions, then layers
    with convolutions or attention and experts.

    The order of the layers with experts does not affect any count.

    >>> LFM2MoE().formula("kv-cache")
    4*B*C*L_attn*G*D + 2*B*L_conv*E*K_conv
    """

    title = "LFM2-MoE"
    constraints = (*ROTARY_HEADS, AtMost(K, X))
    config = Fields(
        usual({V: 65536, E: 2048, **SIZES, A: 32, G: 8, D: HEAD_WIDTH}),
        layers=DenseFirstLayers({"dense": L_dense, "conv": L_conv_x, "full_attention": L_attn}),
        fixed={"output_router_logits": (False,), "use_expert_bias": (True,), "norm_topk_prob": (True,)},
        inert=("routed_scaling_factor",),
    )
    witness = WitnessSpec(
        "Lfm2Moe",
        functions=("act_fn", "rotary_emb"),  # the class calls the table pos_emb
        arguments={"pad_token_id": None},  # otherwise it must be a token
    )

    @property
    def experts(self) -> MoE:
        """Return the experts of a layer, without a shared expert."""
        return MoE(activation=self.activation, routing=SIGMOID_WITH_EXPERT_BIAS, router_code="sigmoid of logits")

    @property
    def stacks(self) -> tuple[Stack, ...]:
        return (
            Stack("dense_layers", L_dense, self.layer),
            Stack("convolution_layers", L_conv_x, self.layer_with("conv", self.convolution, self.experts)),
            Stack("attention_layers", L_attn, self.layer_with("self_attn", self.attention, self.experts)),
        )

    @property
    def totals(self) -> Relations:
        kinds = {L_conv: L_dense + L_conv_x, L_moe: L_conv_x + L_attn}
        return FrozenDict({L: L_dense + L_conv_x + L_attn, **kinds})
