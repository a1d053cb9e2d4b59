"""ESM-2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..components import (
    MLP,
    Component,
    HeadTransform,
    LayerNorm,
    MaskedLMHead,
    Pooler,
    PreNormBlock,
    RotaryPositions,
    SelfAttention,
)
from ..language.sizes import Divides
from ..language.symbols import A, E, H, L, V
from ..ledger.facts import ONE, Tensor
from ..ledger.operations import Operations
from .base_architecture import NO_TABLE, BoolField, Fields, Names, ProbabilityField, WitnessSpec, option, unknown, usual
from .bases.stacked import Stacked


@dataclass(frozen=True, kw_only=True)
class ESM2(Stacked):
    """ESM-2, Lin et al. 2023 [lin2023]: a pre-norm encoder of protein sequences with rotary positions.

    The class also stores a regression from the attention weights of all LA heads to contacts. It is not run here.

    With token dropout, the embeddings are multiplied by the fraction of tokens that are kept in training and divided by
    the fraction that is kept in the input.

    >>> ESM2().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + L*A + V*E + E**2 + 3*E + 1
    """

    title = "ESM-2"
    compared_with = "bert"
    shapes = "tokens[B,S] -> output"
    names = Names(table="embeddings.word_embeddings", layers="encoder.layer", norm="encoder.emb_layer_norm_after")
    constraints = (Divides(2 * A, E),)  # rotary embeddings rotate pairs of elements

    config = Fields(
        usual({V: None, E: 768, H: 3072, L: 12, A: 12}),
        required={"position_embedding_type": ("rotary",)},
        fixed={
            **{"is_decoder": (False,), "emb_layer_norm_before": (False, None)},
            **{"is_folding_model": (False, None), "esmfold_config": (None,), "vocab_list": (None,)},
            "tie_word_embeddings": (True,),
        },
        inert=(NO_TABLE, "hidden_act", "rope_theta"),
    )
    heads = {"Model": {"head": "pooler"}, "ForMaskedLM": {"head": "mlm"}}
    witness = WitnessSpec(
        "Esm",
        prefix="esm.",
        functions=("attention.self.dropout", "gelu"),
        arguments={"pad_token_id": 0, "mask_token_id": 0},  # tokens of any table
        masked=False,
        activation_refusal=unknown("its token dropout and its own GELU"),
    )
    variants = ({}, {"token_dropout": True}, {"head": "mlm", "token_dropout": True})

    head: Literal["pooler", "mlm"] = "pooler"
    token_dropout: bool = option(BoolField("token_dropout", False))
    hidden_dropout: bool = option(ProbabilityField("hidden_dropout_prob", 0.1))
    attention_dropout: bool = option(ProbabilityField("attention_probs_dropout_prob", 0.1))

    @property
    def layer(self) -> Component:
        dropped = "output.dropout" if self.hidden_dropout else ""
        attention = SelfAttention(
            heads=A,
            kv_heads=A,
            head_width=E / A,
            causal=False,
            positions=RotaryPositions(width=E / A),
            scale="queries",
            query="self.query",
            key="self.key",
            value="self.value",
            output="output.dense",
            weight_dropout="self.dropout" if self.attention_dropout else "",
            output_dropout=dropped,
        )
        mlp = MLP(
            activation="gelu_python",
            up="intermediate.dense",
            act="intermediate.gelu",
            down="output.dense",
            dropout=dropped,
        )
        return PreNormBlock(
            parts={"attention.LayerNorm": LayerNorm(), "attention": attention, "LayerNorm": LayerNorm(), "": mlp}
        )

    @property
    def final_norm(self) -> Component:
        return LayerNorm()

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = super().embed(ops, tokens)
        if self.token_dropout:
            for kept in ("kept_in_training", "kept_in_input"):
                x = ops.scale(f"embeddings.{kept}", x)
        return x

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.positions("rotary_embeddings", tokens.shape[1], E / A, "rotary"),)

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        ops.parameter("contact_head.regression", weight=(ONE, L * A), bias=(ONE,))
        if self.head == "pooler":
            return ops.call("pooler", Pooler(), x)
        head = MaskedLMHead(transform=HeadTransform(activation="gelu_python", act="gelu", norm="layer_norm"))
        return ops.call("lm_head", head, x, ops.weight(f"{self.names.table}.weight"))
