"""StarCoder 2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import MLP, Component, LayerNorm
from ..language.symbols import A, C_win, D, E, G, H, L, V
from .base_architecture import Activation, BoolField, Fields, Function, ProbabilityField, WitnessSpec, option, usual
from .bases.windowed import Windowed


@dataclass(frozen=True, kw_only=True)
class StarCoder2(Windowed):
    """StarCoder 2, Lozhkov et al. 2024 [lozhkov2024]: grouped-query attention, biases, layer norms, and an MLP of two
    matrices.

    Its sliding window is wider than most inputs. A config without one has full causal attention.

    >>> StarCoder2().params
    2*L*E*A*D + 2*L*E*G*D + 2*L*E*H + L*A*D + 2*L*G*D + 6*L*E + L*H + V*E + 2*E
    """

    title = "StarCoder 2"
    norm = LayerNorm()
    config = Fields(
        usual({V: 49152, E: 3072, H: 12288, L: 30, A: 24, G: 2, D: E / A, C_win: None}),
        inert=("norm_epsilon",),
    )
    witness = WitnessSpec("Starcoder2", functions=("attention_dropout", "dropout", "embedding_dropout"))
    variants = ({}, {"window": True}, {"bias": False, "tied": False}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))
    window: bool = False
    bias: bool = option(BoolField("use_bias", True))
    activation: Activation = option(Function("hidden_act", "gelu_pytorch_tanh"))
    embedding_dropout: bool = option(ProbabilityField("embedding_dropout", 0.0))
    dropout: bool = option(ProbabilityField("residual_dropout", 0.0))

    @property
    def attention(self) -> Component:
        dropped = "dropout" if self.dropout else ""
        return replace(self.rotary_attention, bias=self.bias, output_bias=self.bias, output_dropout=dropped)

    @property
    def mlp(self) -> Component:
        dropped = "dropout" if self.dropout else ""
        return MLP(activation=self.activation, bias=self.bias, up="c_fc", down="c_proj", dropout=dropped)

    @property
    def embedding_drop(self) -> str:
        return "embedding_dropout" if self.embedding_dropout else ""
