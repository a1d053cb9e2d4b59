"""StableLM."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.gated_mlp import GatedMLP
from ..components.parallel_block import ParallelBlock
from ..language.sizes import Divides
from ..language.symbols import A, D_rope, E, G, H, L, V
from .base import Chance, Fields, Share, Switch, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS
from .bases.partly_rotary import PART_OF_A_HEAD, PartlyRotary


@dataclass(frozen=True, kw_only=True)
class StableLM(PartlyRotary):
    """Stable LM 2, Bellagente et al. 2024 [bellagente2024]: Llama with layer norms.

    A part of each head turns; in some releases attention and the MLP read the same norm side by side.

    >>> StableLM().params
    2*L*E**2 + 2*L*E**2*G/A + 3*L*E*H + 4*L*E + 2*V*E + 2*E
    """

    title = "StableLM"
    constraints = (*PART_OF_A_HEAD, Divides(G, A))
    fields = Fields(
        usual({V: 50304, E: 2560, H: 6912, L: 32, A: 32, G: 32})
        | {D_rope: Share(("partial_rotary_factor",), of=E / A, part=0.25)},
        {
            **OPTIONS,
            "qkv_bias": Switch("use_qkv_bias", False),
            "parallel": Switch("use_parallel_residual", False),
            "dropout": Chance("hidden_dropout", 0.0),
        },
        model_types=("stablelm",),
        classes=heads("StableLm"),
        fixed={"qk_layernorm": (False,)},  # would store a norm of each head's queries and keys
        rotary=True,
        inert=(NO_TABLE,),
    )
    witness = Witness("transformers", "StableLmConfig", prefix="model.")
    variants = ({}, {"qkv_bias": True}, {"parallel": True, "tied": True}, {"head": "none"})

    qkv_bias: bool = False
    parallel: bool = False
    dropout: bool = False

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, bias=self.qkv_bias)

    @property
    def mlp(self) -> Component:
        return GatedMLP(activation=self.activation, dropout="dropout" if self.dropout else "")

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        if not self.parallel:
            return super().layer_of(attention, mlp)
        return ParallelBlock(parts={"input_layernorm": self.norm, "self_attn": attention, "mlp": mlp})
