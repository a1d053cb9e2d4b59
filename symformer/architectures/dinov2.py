"""DINOv2."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..components import (
    MLP,
    Component,
    Dropout,
    LayerNorm,
    LayerScale,
    LayerScaleBlock,
    PatchEmbedding,
    SelfAttention,
)
from ..configs.config_fields import MultipleField
from ..language.sizes import Divides
from ..language.symbols import A, E, H, L, N_chan, Z, Z_patch
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import BoolField, Fields, Function, Names, ProbabilityField, WitnessSpec, option, usual
from .bases.stacked import Stacked


@dataclass(frozen=True, kw_only=True)
class DINOv2(Stacked):
    """DINOv2, Oquab et al. 2023 [oquab2023]: a vision transformer whose layers have LayerScale.

    The mask token replaces hidden patches in training. The class stores it, but it is not used here.

    >>> DINOv2().params
    E*Z_patch**2*N_chan + 4*L*E**2 + 2*L*E*H + 11*L*E + L*H + 6*E + E*Z**2/Z_patch**2
    """

    title = "DINOv2"
    shapes = "pixels[B,N_chan,Z,Z] -> output"
    names = Names(layers="encoder.layer", norm="layernorm")
    constraints = (Divides(A, E), Divides(Z_patch, Z), Divides(E, H))

    config = Fields(
        {
            **usual({Z: 224, Z_patch: 14, N_chan: 3, E: 768}),
            H: MultipleField(("mlp_ratio",), 4, of=E),
            **usual({L: 12, A: 12}),
        },
        fixed={"use_swiglu_ffn": (False,), "drop_path_rate": (0,)},
        # an initial value, and the feature maps of a class that is not supported
        inert=("layerscale_value", "apply_layernorm", "reshape_hidden_states", "out_features", "out_indices"),
    )
    heads = {"Model": {}}
    witness = WitnessSpec("Dinov2", functions=("attention.dropout",), prefix="")
    variants = ({}, {"mask_token": False}, {"qkv_bias": False})

    mask_token: bool = option(BoolField("use_mask_token", True))
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
            weight_dropout="dropout" if self.attention_dropout else "",
        )
        mlp = MLP(activation=self.activation, up="fc1", act="activation_fn", down="fc2")
        first = {"norm1": LayerNorm(), "attention": attention, "layer_scale1": LayerScale()}
        return LayerScaleBlock(parts={**first, "norm2": LayerNorm(), "mlp": mlp, "layer_scale2": LayerScale()})

    @property
    def final_norm(self) -> Component:
        return LayerNorm()

    def embed(self, ops: Operations, pixels: Tensor) -> Tensor:
        patches = ops.call("embeddings.patch_embeddings.projection", PatchEmbedding(), pixels)
        x = ops.prepend("embeddings.tokens", ops.learned("embeddings.cls_token", ONE, ONE, E), patches)
        if self.mask_token:
            ops.learned("embeddings.mask_token", ONE, E)
        places = ops.learned("embeddings.position_embeddings", Integer(1), x.shape[1], E)
        x = ops.add("embeddings.positions", x, places)
        return ops.call("embeddings.dropout", Dropout(), x) if self.hidden_dropout else x

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        return x
