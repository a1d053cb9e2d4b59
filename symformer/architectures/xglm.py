"""XGLM."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import MLP, Component, Dropout, PreNormBlock, SinusoidalPositions, TokenEmbedding
from ..language.symbols import A, E, H, L, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import (
    NO_TABLE,
    OWN_ATTENTION,
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
from .bases.gpt_like import GPTLike

FAIRSEQ = {
    E: ("d_model", "hidden_size"),
    L: ("num_layers", "num_hidden_layers"),
    A: ("attention_heads", "num_attention_heads"),
}


@dataclass(frozen=True, kw_only=True)
class XGLM(GPTLike):
    """XGLM, Lin et al. 2022 [lin2022], section 2.2: a multilingual pre-norm decoder with sinusoidal positions.

    >>> XGLM().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + 2*E
    """

    title = "XGLM"
    names = Names(norm="layer_norm")
    config = Fields(
        usual({V: 256008, E: 1024, H: Field(("ffn_dim",), 4096), L: 24, A: 16}, FAIRSEQ),
        fixed={"layerdrop": (0.0,)},
        inert=(NO_TABLE, "init_std"),
    )
    witness = WitnessSpec(
        "XGLM",
        functions=("dropout", "attention_dropout", "activation_dropout"),
        arguments={NO_TABLE: 2**16},  # with enough positions, the class does not replace its table during a run
        activation_refusal=OWN_ATTENTION,
    )

    scaled: bool = option(BoolField("scale_embedding", True))
    activation: Activation = option(Function("activation_function", "gelu"))
    dropout: bool = option(ProbabilityField("dropout", 0.1))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.1))
    activation_dropout: bool = option(ProbabilityField("activation_dropout", 0.0))

    @property
    def layer(self) -> Component:
        attention = replace(
            self.multi_head,
            output="out_proj",
            scale="queries",
            weight_dropout="attention_dropout" if self.attention_dropout else "",
        )
        inner = "activation_dropout" if self.activation_dropout else ""
        mlp = MLP(activation=self.activation, up="fc1", act="activation_fn", down="fc2", inner_dropout=inner)
        parts = {"self_attn_layer_norm": self.norm, "self_attn": attention, "final_layer_norm": self.norm, "": mlp}
        return PreNormBlock(parts=parts, dropout="dropout" if self.dropout else "")

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = ops.call(self.names.table, TokenEmbedding(), tokens)
        x = ops.scale("embed_scale", x, "root") if self.scaled else x
        x = ops.call("embed_positions", SinusoidalPositions(), x)
        return ops.call("dropout", Dropout(), x) if self.dropout else x
