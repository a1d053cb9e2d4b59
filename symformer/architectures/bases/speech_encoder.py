"""SpeechEncoder: convolutions over a sound wave, then bidirectional layers. The base of wav2vec 2.0 and HuBERT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...components import (
    MLP,
    Component,
    ConvolutionalPositions,
    LayerNorm,
    Linear,
    PostNormBlock,
    PreNormBlock,
    SelfAttention,
    WaveEncoder,
)
from ...components.wave_encoder import KERNELS, STRIDES
from ...configs.config_fields import BoolField, Choice, EitherProbability, EqualNumbersField, Function
from ...configs.field_mapping import Fields
from ...configs.usual_fields import usual
from ...language.sizes import Divides
from ...language.symbols import A, E, E_wave, G_near, H, K_near, L, V
from ...ledger.facts import Activation, Tensor
from ...ledger.operations import Operations
from ..base_architecture import Names, option, unknown
from .stacked import Stacked

# torch's words for the normalized weight of the positions -> those of the operation
WEIGHT_NAMES = {
    "conv.parametrizations.weight.original0": "conv.weight_g",
    "conv.parametrizations.weight.original1": "conv.weight_v",
}
# The class masks features of training data at random; on meta it has no data to choose them from.
UNMASKED = {"apply_spec_augment": False}
UNSAVED = unknown("its convolutions over the sound wave")


@dataclass(frozen=True, kw_only=True)
class SpeechEncoder(Stacked):
    """A bidirectional encoder of S frames, which convolutions compute from a sound wave of 320·S + 80 samples."""

    shapes = "sound[B,320*S+80] -> output"
    names = Names(layers="encoder.layers", norm="encoder.layer_norm")
    constraints = (Divides(A, E), *ConvolutionalPositions.constraints)
    config = Fields(
        usual(
            {
                **{V: 32, E: 768, H: 3072, L: 12, A: 12, K_near: 128, G_near: 16},
                E_wave: EqualNumbersField(("conv_dim",), 512, layers=len(KERNELS)),
            },
            {K_near: ("num_conv_pos_embeddings",), G_near: ("num_conv_pos_embedding_groups",)},
        ),
        needs={V: "head"},
        fixed={
            **{"conv_kernel": ([*KERNELS],), "conv_stride": ([*STRIDES],)},
            "num_feat_extract_layers": (len(KERNELS),),
        },
        required={"layerdrop": (0.0,)},  # a layer that it skips is not computed
        inert=(
            # no effect on any quantity that is supported
            *("hidden_dropout", "activation_dropout", "attention_dropout", "feat_proj_dropout", "final_dropout"),
            *("apply_spec_augment", "mask_time_length", "mask_feature_length"),
            # the loss, and heads that no built-in class has
            *("ctc_loss_reduction", "ctc_zero_infinity", "use_weighted_layer_sum", "classifier_proj_size"),
        ),
    )
    heads = {"Model": {"head": "none"}, "ForCTC": {"head": "ctc"}}

    head: Literal["none", "ctc"] = "none"
    pre_norm: bool = option(BoolField("do_stable_layer_norm", False))
    wave_norm: Literal["group", "layer"] = option(
        Choice("feat_extract_norm", {"group": "group", "layer": "layer"}, "group")
    )
    conv_bias: bool = option(BoolField("conv_bias", False))
    mask_token: bool = option(EitherProbability("mask_time_prob", 0.05, also="mask_feature_prob"))
    activation: Activation = option(Function("hidden_act", "gelu"))
    wave_activation: Activation = option(Function("feat_extract_activation", "gelu"))

    @property
    def feature_norm(self) -> bool:
        """Return whether the output of the convolutions is normalized."""
        return True

    @property
    def layer(self) -> Component:
        attention = SelfAttention(heads=A, kv_heads=A, head_width=E / A, causal=False, output="out_proj")
        mlp = MLP(activation=self.activation, up="intermediate_dense", act="intermediate_act_fn", down="output_dense")
        if self.pre_norm:
            parts = {"layer_norm": LayerNorm(), "attention": attention}
            return PreNormBlock(parts={**parts, "final_layer_norm": LayerNorm(), "feed_forward": mlp})
        parts = {"attention": attention, "layer_norm": LayerNorm()}
        return PostNormBlock(parts={**parts, "feed_forward": mlp, "final_layer_norm": LayerNorm()}, dropouts=())

    @property
    def final_norm(self) -> Component | None:
        return LayerNorm() if self.pre_norm else None

    def embed(self, ops: Operations, sound: Tensor) -> Tensor:
        if self.mask_token:
            ops.learned("masked_spec_embed", E)
        wave = WaveEncoder(norm=self.wave_norm, bias=self.conv_bias, activation=self.wave_activation)
        x = ops.call("feature_extractor", wave, sound)
        if self.feature_norm:
            x = ops.call("feature_projection.layer_norm", LayerNorm(), x)
        x = ops.call("feature_projection.projection", Linear(out=E), x)
        places = ops.call("encoder.pos_conv_embed", ConvolutionalPositions(activation=self.wave_activation), x)
        x = ops.add("encoder.positions", x, places)
        return x if self.pre_norm else ops.call(self.names.norm, LayerNorm(), x)

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        return x if self.head == "none" else ops.call("lm_head", Linear(out=V), x)
