"""Phi."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import MLP, Component, LayerNorm, LMHead
from ..language.symbols import A, D, D_rope, E, G, H, L, V
from .base_architecture import (
    HEAD_WIDTH,
    Activation,
    Fields,
    Function,
    Names,
    ProbabilityField,
    WitnessSpec,
    option,
    rotating,
    usual,
)
from .bases.llama_like import PARTLY_ROTARY, LlamaLike


@dataclass(frozen=True, kw_only=True)
class Phi(LlamaLike):
    """Phi-1.5, Li et al. 2023 [li2023], section 2.1, and Phi-2: a parallel decoder with biases everywhere.

    Attention and the MLP share one norm, only a part of each attention head rotates, and the LM head has a bias.

    >>> Phi().params
    2*L*E*A*D + 2*L*E*G*D + 2*L*E*H + L*A*D + 2*L*G*D + 4*L*E + L*H + 2*V*E + V + 2*E
    """

    title = "Phi"
    names = Names(norm="final_layernorm")
    constraints = PARTLY_ROTARY
    turned = D_rope
    norm = LayerNorm()
    logits = LMHead(bias=True)
    config = Fields(
        usual({V: 51200, E: 2048, H: 8192, L: 24, A: 32, G: A, D: HEAD_WIDTH, D_rope: rotating(D, 0.5)}),
        fixed={"qk_layernorm": (False,)},  # would add norms of queries and keys
    )
    witness = WitnessSpec("Phi", functions=("attention_dropout", "resid_dropout"))

    activation: Activation = option(Function("hidden_act", "gelu_new"))
    embedding_dropout: bool = option(ProbabilityField("embd_pdrop", 0.0))
    dropout: bool = option(ProbabilityField("resid_pdrop", 0.0))

    @property
    def layer(self) -> Component:
        dropped = "resid_dropout" if self.dropout else ""
        biased = replace(self.rotary_attention, bias=True, output_bias=True)
        attention = replace(biased, output="dense", output_dropout=dropped)
        mlp = MLP(activation=self.activation, up="fc1", act="activation_fn", down="fc2", dropout=dropped)
        return self.parallel_layer(attention, mlp)

    @property
    def embedding_drop(self) -> str:
        return "embed_dropout" if self.embedding_dropout else ""
