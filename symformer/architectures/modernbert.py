"""ModernBERT."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sympy import Integer

from ..components import (
    Component,
    Dropout,
    GatedMLP,
    HeadTransform,
    Identity,
    LayerNorm,
    LMHead,
    PreNormBlock,
    RotaryPositions,
    SelfAttention,
)
from ..language.sizes import Divides
from ..language.symbols import A, C_local, E, H, L_global, L_local, V
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import (
    NO_TABLE,
    BoolField,
    Field,
    Fields,
    Function,
    Layers,
    Names,
    ProbabilityField,
    WitnessSpec,
    option,
    usual,
)
from .bases.bert_like import FIXED
from .bases.local_global import ROTARY_KINDS
from .bases.stacked import Stack, Stacked

_ROTARY = Fields(fixed={"rope_type": ("default",)}, inert=("rope_theta",))


@dataclass(frozen=True, kw_only=True)
class ModernBERT(Stacked):
    """ModernBERT, Warner et al. 2024 [warner2024], section 2.1: a pre-norm encoder without biases.

    It has rotary positions, gated feed-forward networks, and local attention in all but every third layer. The first
    layer has no norm before its attention, because there is a norm after the embeddings. Global and local layers form
    two stacks here; their order does not affect any count.

    >>> ModernBERT().params
    4*L*E**2 + 3*L*E*H + 2*L*E + V*E + E
    """

    title = "ModernBERT"
    compared_with = "bert"
    shapes = "tokens[B,S] -> output"
    names = Names(table="embeddings.tok_embeddings", norm="final_norm")
    order = "first"
    constraints = (Divides(2 * A, E), Divides(Integer(2), C_local))  # rotary embeddings rotate pairs of elements

    config = Fields(
        usual({V: 50368, E: 768, H: 1152, A: 12, C_local: 128}),
        layers=Layers(
            {"full_attention": L_global, "sliding_attention": L_local},
            ("full_attention", "sliding_attention", "sliding_attention"),
            Field(("num_hidden_layers",), 22),
        ),
        nested={"rope_parameters": Fields(nested={"full_attention": _ROTARY, "sliding_attention": _ROTARY})},
        restated={"sliding_window": C_local / 2},
        fixed={
            **{"classifier_bias": (False,), "classifier_activation": ("gelu",), "global_attn_every_n_layers": (3,)},
            **{"position_embedding_type": FIXED["position_embedding_type"]},
        },
        inert=(
            *(NO_TABLE, "norm_eps", "initializer_cutoff_factor", "classifier_pooling", "deterministic_flash_attn"),
            *("sparse_prediction", "sparse_pred_ignore_index"),  # the logits for which a loss is computed
            *("global_rope_theta", "local_rope_theta", "reference_compile", "repad_logits_with_grad"),
        ),
    )
    heads = {"Model": {"head": "none"}, "ForMaskedLM": {"head": "mlm"}}
    witness = WitnessSpec(
        "ModernBert",
        functions=("attention_dropout", *ROTARY_KINDS),
        arguments={"pad_token_id": None},  # otherwise it must be a row of the table
    )
    variants = (
        {},
        {"norm_bias": True},
        {"head": "mlm"},
        {"head": "mlm", "tied": False},
        {"head": "mlm", "decoder_bias": False},
    )

    head: Literal["none", "mlm"] = "none"
    tied: bool = option(BoolField("tie_word_embeddings", True))
    norm_bias: bool = option(BoolField("norm_bias", False))
    decoder_bias: bool = option(BoolField("decoder_bias", True))
    activation: Activation = option(Function("hidden_activation", "gelu"))
    embedding_dropout: bool = option(ProbabilityField("embedding_dropout", 0.0))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.0))
    mlp_dropout: bool = option(ProbabilityField("mlp_dropout", 0.0))

    @property
    def norm(self) -> Component:
        """Return a norm of the model."""
        return LayerNorm(bias=self.norm_bias)

    @property
    def attention(self) -> SelfAttention:
        """Return the bidirectional attention of a layer."""
        return SelfAttention(
            heads=A,
            kv_heads=A,
            head_width=E / A,
            bias=False,
            output_bias=False,
            causal=False,
            positions=RotaryPositions(),
            fused="Wqkv",
            output="Wo",
            softmax="float32",
            weight_dropout="attention_dropout" if self.attention_dropout else "",
            output_dropout="out_drop" if self.attention_dropout else "",
        )

    @property
    def layer(self) -> Component:
        return self.layer_of(self.norm, self.attention)

    def layer_of(self, norm: Component, attention: Component) -> Component:
        """Return a layer with this attention, and this norm before it."""
        dropped = "drop" if self.mlp_dropout else ""
        mlp = GatedMLP(activation=self.activation, fused="Wi", act="act", inner_dropout=dropped, down="Wo")
        return PreNormBlock(parts={"attn_norm": norm, "attn": attention, "mlp_norm": self.norm, "mlp": mlp})

    @property
    def stacks(self) -> tuple[Stack, ...]:
        local = self.layer_of(self.norm, replace(self.attention, window=C_local / 2))
        return (
            Stack("first_layer", ONE, self.layer_of(Identity(), self.attention)),
            Stack("global_layers", L_global - 1, self.layer),
            Stack("local_layers", L_local, local),
        )

    @property
    def final_norm(self) -> Component:
        return self.norm

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = ops.call("embeddings.norm", self.norm, super().embed(ops, tokens))
        return ops.call("embeddings.drop", Dropout(), x) if self.embedding_dropout else x

    def contexts(self, ops: Operations, tokens: Tensor) -> tuple[tuple[Tensor, ...], ...]:
        whole, local = (
            ops.positions(f"rotary_emb.{each}", tokens.shape[1], E / A, "rotary") for each in ("global", "local")
        )
        return (whole,), (whole,), (local,)

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        if self.head == "none":
            return x
        x = ops.call("head", HeadTransform(bias=False, act="act", norm="norm", normalise=self.norm), x)
        return ops.call(
            "decoder", LMHead(tied=self.tied, bias=self.decoder_bias), x, ops.weight(f"{self.names.table}.weight")
        )
