"""The image encoder of SAM."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import MLP, Component, ImageAttention, ImageNeck, LayerNorm, PatchEmbedding, PreNormBlock
from ..language.sizes import Divides
from ..language.symbols import A, E, H, L_global, L_local, N_chan, N_out, Z, Z_patch, Z_win
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import (
    BoolField,
    Field,
    Fields,
    Function,
    IndexedLayers,
    Names,
    WitnessSpec,
    option,
    unknown,
    usual,
)
from .bases.stacked import Stack, Stacked


@dataclass(frozen=True, kw_only=True)
class SAM(Stacked):
    """The image encoder of the Segment Anything Model, Kirillov et al. 2023 [kirillov2023], section 3 and appendix A: a
    vision transformer without a class token. Most layers have attention within square windows of the image, and a few
    have attention over the whole image. A neck reduces the features to N_out channels.

    >>> SAM().params  # doctest: +NORMALIZE_WHITESPACE
    E*Z_patch**2*N_chan + 4*L*E**2 + 2*L*E*H + 9*L*E + L*H + 4*L_local*E*Z_win/A + E*N_out + 9*N_out**2 - 2*L*E/A
    + 4*L_global*E*Z/(A*Z_patch) + E + E*Z**2/Z_patch**2 + 4*N_out
    """

    title = "SAM (image encoder)"
    shapes = "pixels[B,N_chan,Z,Z] -> output"
    names = Names(layers="layers")
    constraints = (Divides(A, E), Divides(Z_patch, Z))

    config = Fields(
        {
            **usual({Z: 1024, Z_patch: 16, N_chan: 3, E: 768, A: 12}),
            H: Field(("mlp_dim",), 4 * E, null=True),
            Z_win: Field(("window_size",), 14),
            N_out: Field(("output_channels",), 256),
        },
        layers=IndexedLayers(
            {"local": L_local, "global": L_global}, depth=Field(("num_hidden_layers",), 12), name="global_attn_indexes"
        ),
        model_types=("sam_vision_model",),
        fixed={"mlp_ratio": (4.0,)},  # of the MLP's intermediate size, if the config does not state it
        inert=(
            "scale",  # follows from the hidden size
            "num_pos_feats",  # of the prompt encoder
            "attention_dropout",  # no effect on any quantity that is supported
        ),
    )
    heads = {"Model": {}}
    witness = WitnessSpec(
        "SamVision",
        prefix="vision_encoder.",
        arguments={"attn_implementation": "eager"},
        cached=False,
        activation_refusal=unknown("its windows"),
    )
    variants = ({}, {"relative": False}, {"absolute": False}, {"qkv_bias": False})

    qkv_bias: bool = option(BoolField("qkv_bias", True))
    absolute: bool = option(BoolField("use_abs_pos", True))
    relative: bool = option(BoolField("use_rel_pos", True))
    activation: Activation = option(Function("hidden_act", "gelu"))

    @property
    def layer(self) -> Component:
        return self._layer(ImageAttention(bias=self.qkv_bias, relative=self.relative))

    @property
    def stacks(self) -> tuple[Stack, ...]:
        windowed = ImageAttention(bias=self.qkv_bias, relative=self.relative, window=Z_win)
        return Stack("local_layers", L_local, self._layer(windowed)), Stack("global_layers", L_global, self.layer)

    def _layer(self, attention: ImageAttention) -> Component:
        mlp = MLP(activation=self.activation, up="lin1", act="act", down="lin2")
        return PreNormBlock(
            parts={"layer_norm1": LayerNorm(), "attn": attention, "layer_norm2": LayerNorm(), "mlp": mlp}
        )

    def embed(self, ops: Operations, pixels: Tensor) -> Tensor:
        x = ops.call("patch_embed.projection", PatchEmbedding(), pixels)
        if not self.absolute:
            return x
        places = ops.learned("pos_embed", ONE, Z / Z_patch, Z / Z_patch, E).view((ONE, *x.shape[1:]))
        return ops.add("positions", x, places)

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.call("neck", ImageNeck(), x)
