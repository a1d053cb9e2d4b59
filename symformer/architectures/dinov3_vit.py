"""DINOv3."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import (
    MLP,
    Component,
    GatedMLP,
    LayerNorm,
    LayerScale,
    LayerScaleBlock,
    PatchEmbedding,
    RotaryPositions,
    SelfAttention,
)
from ..components.rotary_positions import GRID
from ..language.sizes import Divides
from ..language.symbols import A, E, H, L, N_chan, N_reg, Z, Z_patch
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import BoolField, Fields, Function, Names, ProbabilityField, WitnessSpec, option, usual
from .bases.stacked import Stacked

PATCHES = Z**2 / Z_patch**2


@dataclass(frozen=True, kw_only=True)
class DINOv3(Stacked):
    """DINOv3, Siméoni et al. 2025 [simeoni2025], section 3.2: a vision transformer with rotary positions, register
    tokens and LayerScale.

    Only the patches have positions: the class token and the N_reg register tokens do not rotate. The mask token
    replaces hidden patches in training. The class stores it, but it is not used here.

    >>> DINOv3().params
    E*Z_patch**2*N_chan + 4*L*E**2 + 2*L*E*H + 10*L*E + L*H + E*N_reg + 5*E
    """

    title = "DINOv3"
    shapes = "pixels[B,N_chan,Z,Z] -> output"
    names = Names(layers="model.layer", norm="norm")
    # A rotation has a pair of elements for each frequency of each of the two axes.
    constraints = (Divides(4 * A, E), Divides(Z_patch, Z))

    config = Fields(
        usual({Z: 224, Z_patch: 16, N_chan: 3, N_reg: None, E: 384, H: 1536, L: 12, A: 6}),
        classes={"symformer.witness.models.dinov3:ExactDINOv3": {}, "DINOv3ViTModel": {}},
        fixed={
            **dict.fromkeys(("query_bias", "value_bias", "proj_bias", "mlp_bias"), (True,)),
            "drop_path_rate": (0,),
        },
        inert=(
            *("layerscale_value", "rope_theta"),
            *("pos_embed_shift", "pos_embed_jitter", "pos_embed_rescale"),  # changes of the angles in training
            # the feature maps of a class that is not supported
            *("apply_layernorm", "reshape_hidden_states", "return_class_token", "stage_names"),
            *("out_features", "out_indices", "_out_features", "_out_indices"),
        ),
    )
    witness = WitnessSpec(
        "DINOv3ViT",
        prefix="",
        functions=("attention.dropout",),
        author="the transformers class, with its number of frequencies rounded correctly",
    )
    variants = ({}, {"gated": True, "activation": "silu"}, {"key_bias": True})

    key_bias: bool = option(BoolField("key_bias", False))
    gated: bool = option(BoolField("use_gated_mlp", False))
    activation: Activation = option(Function("hidden_act", "gelu"))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.0))

    @property
    def layer(self) -> Component:
        attention = SelfAttention(
            heads=A,
            kv_heads=A,
            head_width=E / A,
            key_bias=self.key_bias,
            causal=False,
            positions=RotaryPositions(width=E / A, tokens=PATCHES, axes=GRID),
            weight_dropout="dropout" if self.attention_dropout else "",
        )
        mlp: Component = MLP(activation=self.activation, up="up_proj", act="act_fn", down="down_proj")
        if self.gated:
            mlp = GatedMLP(activation=self.activation, bias=True)
        first = {"norm1": LayerNorm(), "attention": attention, "layer_scale1": LayerScale()}
        return LayerScaleBlock(parts={**first, "norm2": LayerNorm(), "mlp": mlp, "layer_scale2": LayerScale()})

    @property
    def final_norm(self) -> Component:
        return LayerNorm()

    def embed(self, ops: Operations, pixels: Tensor) -> Tensor:
        patches = ops.call("embeddings.patch_embeddings", PatchEmbedding(), pixels)
        ops.learned("embeddings.mask_token", ONE, ONE, E)
        classes = ops.learned("embeddings.cls_token", ONE, ONE, E)
        registers = ops.learned("embeddings.register_tokens", ONE, N_reg, E)
        return ops.prepend("embeddings.tokens", ops.prepend("embeddings.prefix", classes, registers), patches)

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.positions("rope_embeddings", PATCHES, E / A, "rotary"),)

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        return x
