"""ViT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sympy import Integer

from ..components import MLP, Component, Dropout, LayerNorm, Linear, PatchEmbedding, Pooler, PreNormBlock, SelfAttention
from ..language.sizes import Divides
from ..language.symbols import A, E, H, L, N_chan, N_class, Z, Z_patch
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import BoolField, Fields, Function, Labels, Names, ProbabilityField, WitnessSpec, option, usual
from .bases.stacked import Stacked

CLASSES = Labels(("num_labels", "id2label"), 2, null=True)


@dataclass(frozen=True, kw_only=True)
class ViT(Stacked):
    """The vision transformer, Dosovitskiy et al. 2021 [dosovitskiy2021], section 3.1, eqs. 1-4: a pre-norm encoder. Its
    tokens are a class token and the patches of an image of Z by Z pixels, each with a learned position.

    The number of tokens is always Z²/Z_patch² + 1.

    >>> ViT().params
    E*Z_patch**2*N_chan + 4*L*E**2 + 2*L*E*H + 9*L*E + L*H + E**2 + 6*E + E*Z**2/Z_patch**2
    """

    title = "ViT"
    shapes = "pixels[B,N_chan,Z,Z] -> output"
    names = Names(norm="layernorm")
    constraints = (Divides(A, E), Divides(Z_patch, Z))

    config = Fields(
        usual({Z: 224, Z_patch: 16, N_chan: 3, E: 768, H: 3072, L: 12, A: 12, N_class: CLASSES}),
        restated={"pooler_output_size": E},
        fixed={"pooler_act": ("tanh",)},
        inert=("encoder_stride",),  # of a head that no built-in class has
    )
    heads = {"Model": {"head": "pooler"}, "ForImageClassification": {"head": "classifier"}}
    witness = WitnessSpec("ViT", prefix="vit.")
    variants = ({}, {"head": "classifier"}, {"qkv_bias": False})

    head: Literal["pooler", "classifier"] = "pooler"
    qkv_bias: bool = option(BoolField("qkv_bias", True))
    activation: Activation = option(Function("hidden_act", "gelu"))
    hidden_dropout: bool = option(ProbabilityField("hidden_dropout_prob", 0.0))
    attention_dropout: bool = option(ProbabilityField("attention_probs_dropout_prob", 0.0))

    @property
    def layer(self) -> Component:
        attention = SelfAttention(
            heads=A,
            kv_heads=A,
            head_width=E / A,
            bias=self.qkv_bias,
            causal=False,
            softmax="float32",
            weight_dropout="attention_dropout" if self.attention_dropout else "",
        )
        mlp = MLP(activation=self.activation, up="fc1", act="activation_fn", down="fc2")
        parts = {"layernorm_before": LayerNorm(), "attention": attention, "layernorm_after": LayerNorm(), "mlp": mlp}
        return PreNormBlock(parts=parts, dropout="dropout" if self.hidden_dropout else "")

    @property
    def final_norm(self) -> Component:
        return LayerNorm()

    def embed(self, ops: Operations, pixels: Tensor) -> Tensor:
        patches = ops.call("embeddings.patch_embeddings.projection", PatchEmbedding(), pixels)
        x = ops.prepend("embeddings.tokens", ops.learned("embeddings.cls_token", *map(Integer, (1, 1)), E), patches)
        places = ops.learned("embeddings.position_embeddings", Integer(1), x.shape[1], E)
        x = ops.add("embeddings.positions", x, places)
        return ops.call("embeddings.dropout", Dropout(), x) if self.hidden_dropout else x

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        if self.head == "pooler":
            return ops.call("pooler", Pooler(), x)
        return ops.call("classifier", Linear(out=N_class), ops.select("first", x))
