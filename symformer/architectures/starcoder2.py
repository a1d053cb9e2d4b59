"""StarCoder 2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components.base import Component
from ..components.dropout import Dropout
from ..components.layer_norm import LayerNorm
from ..components.mlp import MLP
from ..language.sizes import AtMost, Condition
from ..language.symbols import A, C_win, D, E, G, H, L, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Chance, Field, Fields, Function, Switch, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS, ROTARY_HEADS, LlamaLike


@dataclass(frozen=True, kw_only=True)
class StarCoder2(LlamaLike):
    """StarCoder 2, Lozhkov et al. 2024 [lozhkov2024]: grouped queries, biases, layer norms, two matrices.

    Its window is wider than most inputs; where a config has none, a query sees every token before it.

    >>> StarCoder2().params
    2*L*E*A*D + 2*L*E*G*D + 2*L*E*H + L*A*D + 2*L*G*D + 6*L*E + L*H + V*E + 2*E
    """

    title = "StarCoder 2"
    fields = Fields(
        usual({V: 49152, E: 3072, H: 12288, L: 30, A: 24, G: 2, D: E / A, C_win: Field(("sliding_window",))}),
        {
            **OPTIONS,
            "tied": Switch("tie_word_embeddings", True),
            "bias": Switch("use_bias", True),
            "activation": Function("hidden_act", "gelu_pytorch_tanh"),
            "embedding_dropout": Chance("embedding_dropout", 0.0),
            "dropout": Chance("residual_dropout", 0.0),
        },
        nullable={"window": C_win},
        model_types=("starcoder2",),
        classes=heads("Starcoder2"),
        rotary=True,
        inert=(NO_TABLE, "norm_epsilon"),
    )
    witness = Witness("transformers", "Starcoder2Config", prefix="model.")
    variants = ({}, {"window": True}, {"bias": False, "tied": False}, {"head": "none"})

    tied: bool = True
    window: bool = False
    bias: bool = True
    activation: Activation = "gelu_pytorch_tanh"
    embedding_dropout: bool = False
    dropout: bool = False

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # with no window, no condition on it
        return (*ROTARY_HEADS, AtMost(Integer(2), C_win)) if self.window else ROTARY_HEADS

    @property
    def norm(self) -> Component:
        return LayerNorm()

    @property
    def attention(self) -> Component:
        window, dropped = C_win if self.window else None, "dropout" if self.dropout else ""
        attention = replace(self.rotary_attention, bias=self.bias, output_bias=self.bias)
        return replace(attention, window=window, output_dropout=dropped)

    @property
    def mlp(self) -> Component:
        dropped = "dropout" if self.dropout else ""
        return MLP(activation=self.activation, bias=self.bias, up="c_fc", down="c_proj", dropout=dropped)

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = super().embed(ops, tokens)
        return ops.call("embedding_dropout", Dropout(), x) if self.embedding_dropout else x
