"""OPT."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components import (
    MLP,
    Component,
    LayerNorm,
    Linear,
    PositionEmbedding,
    PostNormBlock,
    PreNormBlock,
    TokenEmbedding,
)
from ..language.sizes import Condition, Differs
from ..language.symbols import A, E, E_emb, H, L, P, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import BoolField, Field, Fields, Function, Names, ProbabilityField, WitnessSpec, option, usual
from .bases.gpt_like import GPTLike
from .bases.stacked import with_positions

WIDTHS = {H: Field(("ffn_dim",), 3072), E_emb: Field(("word_embed_proj_dim",), E, null=True)}


@dataclass(frozen=True, kw_only=True)
class OPT(GPTLike):
    """OPT, Zhang et al. 2022 [zhang2022], section 2.1: GPT-3 with ReLU.

    The position table has two unused rows before the row of the first position. The model with 350M parameters has a
    norm after each sublayer, no final norm, and embeddings narrower than its layers.

    >>> OPT().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + P*E + 4*E
    """

    title = "OPT"
    names = Names(norm="final_layer_norm")
    config = Fields(
        usual({V: 50272, P: 2048, E: 768, L: 12, A: 12, **WIDTHS}),
        apart={"projected": (E_emb, E)},
        fixed={"layerdrop": (0.0,), "_remove_final_layer_norm": (False,)},
        inert=("init_std", "activation_dropout"),  # the class has no dropout inside its MLP
    )
    witness = WitnessSpec(
        "OPT",
        functions=("attention_dropout", "dropout"),
        rename={"decoder.": ""},
        arguments={"pad_token_id": 0},  # a token of any table
    )
    variants = (
        {},
        {"norm_first": False, "projected": True},
        {"bias": False, "affine": False, "tied": False},
        {"head": "none"},
    )

    norm_first: bool = option(BoolField("do_layer_norm_before", True))
    projected: bool = False
    bias: bool = option(BoolField("enable_bias", True))
    affine: bool = option(BoolField("layer_norm_elementwise_affine", True))
    activation: Activation = option(Function("activation_function", "relu"))
    dropout: bool = option(ProbabilityField("dropout", 0.1))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.0))

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # the projection needs two widths
        because = "there is no projection between equal widths; choose projected=false"
        return (*GPTLike.constraints, *((Differs(E_emb, E, because),) if self.projected else ()))

    @property
    def norm(self) -> Component:
        return LayerNorm(scale=self.affine, bias=self.affine)

    @property
    def final_norm(self) -> Component | None:
        return self.norm if self.norm_first else None

    @property
    def layer(self) -> Component:
        dropped = "dropout" if self.dropout else ""
        attention = replace(
            self.multi_head,
            bias=self.bias,
            output_bias=self.bias,
            output="out_proj",
            softmax="float32",
            weight_dropout="attention_dropout" if self.attention_dropout else "",
            output_dropout=dropped,
        )
        mlp = MLP(
            bias=self.bias, activation=self.activation, up="fc1", act="activation_fn", down="fc2", dropout=dropped
        )
        first, second = {"self_attn_layer_norm": self.norm}, {"final_layer_norm": self.norm}
        if self.norm_first:
            return PreNormBlock(parts={**first, "self_attn": attention, **second, "": mlp})
        return PostNormBlock(parts={"self_attn": attention, **first, "": mlp, **second}, dropouts=())

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = ops.call("embed_tokens", TokenEmbedding(width=E_emb if self.projected else E), tokens)
        x = ops.call("project_in", Linear(out=E, bias=False), x) if self.projected else x
        return with_positions(ops, "embed_positions", x, PositionEmbedding(rows=P + 2, skipped=Integer(2)))

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.index("positions", 1, tokens.shape[1]),)  # the class passes them to every layer

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        x = ops.call("project_out", Linear(out=E_emb, bias=False), x) if self.projected else x
        return super().finish(ops, x)
