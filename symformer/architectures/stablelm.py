"""StableLM."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, GatedMLP, LayerNorm
from ..language.sizes import Divides
from ..language.symbols import A, D_rope, E, G, H, L, V
from .base_architecture import BoolField, Fields, ProbabilityField, WitnessSpec, option, rotating, usual
from .bases.llama_like import PART_OF_A_HEAD, LlamaLike


@dataclass(frozen=True, kw_only=True)
class StableLM(LlamaLike):
    """Stable LM 2, Bellagente et al. 2024 [bellagente2024]: Llama with layer norms.

    Only a part of each head rotates. In some releases, attention and the MLP are parallel with one norm for both.

    >>> StableLM().params
    2*L*E**2 + 2*L*E**2*G/A + 3*L*E*H + 4*L*E + 2*V*E + 2*E
    """

    title = "StableLM"
    constraints = (*PART_OF_A_HEAD, Divides(G, A))
    head_width, turned = E / A, D_rope
    norm = LayerNorm()
    config = Fields(
        usual({V: 50304, E: 2560, H: 6912, L: 32, A: 32, G: 32, D_rope: rotating(E / A, 0.25)}),
        fixed={"qk_layernorm": (False,)},  # would add norms of queries and keys
    )
    witness = WitnessSpec("StableLm", functions=("attention_dropout", "mlp.dropout"))
    variants = ({}, {"qkv_bias": True}, {"parallel": True, "tied": True}, {"head": "none"})

    qkv_bias: bool = option(BoolField("use_qkv_bias", False))
    parallel: bool = option(BoolField("use_parallel_residual", False))
    dropout: bool = option(ProbabilityField("hidden_dropout", 0.0))

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, bias=self.qkv_bias)

    @property
    def mlp(self) -> Component:
        return GatedMLP(activation=self.activation, dropout="dropout" if self.dropout else "")

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        return (self.parallel_layer if self.parallel else self.pre_norm_layer)(attention, mlp)
