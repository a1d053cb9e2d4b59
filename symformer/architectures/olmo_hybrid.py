"""OLMo Hybrid."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import floor

from ..components import Component, GatedDeltaNet, PreNormBlock, RMSNorm, SelfAttention
from ..language.sizes import Divides
from ..language.symbols import A, A_k_lin, A_v_lin, D, D_k_lin, D_v_lin, E, G, H, K_conv, L_attn, L_lin, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import HEAD_WIDTH, BoolField, Field, Fields, Layers, RotaryBase, WitnessSpec, option, usual
from .bases.biased import Biased
from .bases.linear_hybrid import KINDS
from .bases.llama_like import ROTARY_HEADS
from .bases.res_post_norm import ResPostNorm
from .bases.stacked import Stack

DELTA_NET = {
    A_k_lin: A,
    A_v_lin: A,
    D_k_lin: floor(3 * E / (4 * A_k_lin)),
    D_v_lin: 2 * D_k_lin,
    K_conv: Field(("linear_conv_kernel_dim",), 4),
}
PATTERN = ("linear_attention",) * 3 + ("full_attention",)


@dataclass(frozen=True, kw_only=True)
class OLMoHybrid(ResPostNorm, Biased):
    """OLMo Hybrid, Allen Institute for AI 2026 [olmo2026]: Gated DeltaNet in three of four layers, with a norm before
    each sublayer. The other layers have the attention and the norms of OLMo 3, without a window, and in the released
    models without positions.

    The order of the layers does not affect any count.

    >>> OLMoHybrid().formula("kv-cache").diff("C")
    4*B*L_attn*G*D
    """

    title = "OLMo Hybrid"
    constraints = (*ROTARY_HEADS, Divides(A_k_lin, A_v_lin))
    tables = "rotary_single"
    norm = RMSNorm(late=True)
    config = Fields(
        usual({V: 100352, E: 3840, H: 11008, A: 30, G: A, D: HEAD_WIDTH, **DELTA_NET}),
        layers=Layers(KINDS, PATTERN, Field(("num_hidden_layers",), 32)),
        # weight initialization
        inert=(*("linear_a_log_min", "linear_a_log_max", "linear_dt_min", "linear_dt_max", "linear_dt_init_floor"),),
    )
    witness = WitnessSpec("OlmoHybrid", arguments={"pad_token_id": None})  # otherwise it must be a token
    variants = (
        {},
        {"rotary": False},
        {"tied": True, "attention_bias": True},
        {"doubled": False},
        {"head": "none"},
    )

    rotary: bool = option(RotaryBase())
    doubled: bool = option(BoolField("linear_allow_neg_eigval", True))

    @property
    def mixer(self) -> GatedDeltaNet:
        """Return the linear attention of a layer."""
        return GatedDeltaNet(activation=self.activation, factor="doubled" if self.doubled else "")

    @property
    def attention(self) -> SelfAttention:
        found = replace(self.rotary_attention, joint_norm=self.norm)
        return found if self.rotary else replace(found, positions=None)

    @property
    def linear_layer(self) -> Component:
        """Return a layer with linear attention."""
        networks = {"post_attention_layernorm": self.norm, "mlp": self.mlp}
        return PreNormBlock(parts={"input_layernorm": self.norm, "linear_attn": self.mixer, **networks})

    @property
    def stacks(self) -> tuple[Stack, ...]:
        return (Stack("linear_layers", L_lin, self.linear_layer), Stack("attention_layers", L_attn, self.layer))

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        # The class passes the position indices to every layer.
        return super().context(ops, tokens) if self.rotary else (ops.index("positions", 1, tokens.shape[1]),)
