"""Qwen3-VL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

from sympy import Symbol

from ..components import Component, DeepstackBlock, NativeResolutionEncoder, PatchMerger, PreNormBlock
from ..configs.common_fields import Config
from ..configs.config_fields import Derived
from ..language.errors import UnreadError
from ..language.frozen import FrozenDict
from ..language.sizes import AtMost, Divides, Numbers, Relations, format_value
from ..language.symbols import (
    A_vis,
    E,
    E_vis,
    H_vis,
    J_merge,
    L,
    L_deep,
    L_vis,
    N_chan,
    P_vis,
    T_patch,
    Z,
    Z_patch,
)
from ..ledger.facts import INTERLEAVED_ROTARY, Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import BoolField, Field, Fields, Function, Variants, WitnessSpec, option, unknown
from .bases.multimodal import IMAGE, LANGUAGE, TEXT, LanguageModel, Multimodal
from .bases.stacked import Stack, run_stacks
from .qwen3 import Qwen3

DEEPSTACK = f"{IMAGE}.deepstack_visual_indexes"


class ListedLayersField(Derived):
    """The config field that lists the layers of the vision transformer whose outputs the language model reads, too."""

    @property
    def rule(self) -> str:
        """Return how the class computes the size from the field."""
        return "the number of layers in the list"

    def taken(self, size: Symbol, config: Config, numbers: Numbers) -> int:
        """Return the number of layers in the list. Raises UnreadError if one is listed twice or does not exist."""
        listed, depth = config.get(DEEPSTACK, [8, 16, 24]), numbers[L_vis]
        whole = isinstance(listed, list | tuple) and all(type(each) is int for each in listed)
        if not whole or not listed or len({*listed}) < len(listed) or not all(0 <= each < depth for each in listed):
            raise UnreadError(
                f"{DEEPSTACK!r} is {format_value(listed)} in the config; it should list different layers, numbered "
                f"from 0, of the {depth} layers of the vision transformer"
            )
        return len(listed)

    def written(self, number: int, numbers: Mapping[Symbol, int]) -> list[int]:  # type: ignore[override]
        """Return a list of the last layers."""
        return list(range(numbers[L_vis] - number, numbers[L_vis]))


@dataclass(frozen=True, kw_only=True)
class DeepstackLanguageModel(LanguageModel):
    """A language model whose first layers also read features of the images."""

    shapes = (
        "tokens[B,S], images[B_vis,Z**2/(Z_patch**2*J_merge**2),E], "
        "features[B_vis,L_deep,Z**2/(Z_patch**2*J_merge**2),E] -> x[B,S,E]"
    )

    further_inputs = {
        "images": "are the tokens of the images",
        "features": "are the features of the images, a set for each of the first layers",
    }

    def forward(self, ops: Operations, tokens: Tensor, images: Tensor, features: Tensor) -> Tensor:  # type: ignore[override]
        whole = self.whole
        x = ops.scatter("image_tokens", whole.embed(ops, tokens), images)
        (angles,) = whole.context(ops, tokens)
        feature = features.view(images.shape, "feature")  # each layer reads its own
        contexts = ((feature, angles), (angles,))
        x = run_stacks(ops, whole.names.layers, whole.stacks, x, contexts, order="kind by kind")
        return ops.call(whole.names.norm, whole.norm, x)


@dataclass(frozen=True, kw_only=True)
class DeepstackLanguageTower(Component):
    """The language model and its head."""

    title = "Language model and head"
    role = "tower"
    tower = "language"
    shapes = DeepstackLanguageModel.shapes.replace("x[B,S,E]", "output")
    further_inputs = DeepstackLanguageModel.further_inputs

    whole: Multimodal

    @property
    def name(self) -> str:
        return self.tower

    def forward(self, ops: Operations, tokens: Tensor, images: Tensor, features: Tensor) -> Tensor:
        x = ops.call(LANGUAGE, DeepstackLanguageModel(whole=self.whole), tokens, images, features)
        return self.whole.finish(ops, x)


@dataclass(frozen=True, kw_only=True)
class Qwen3VL(Multimodal, Qwen3):
    """Qwen3-VL, Bai et al. 2025 [bai2025], section 2: an image encoder for images of any size, and Qwen3 with rotary
    positions for time, height and width. All norms add 1e-6 before the square root; in the language model, this is
    the value of ``rms_norm_eps``.

    A square of J_merge by J_merge patches becomes one token, so a square image of side Z takes
    ``Z**2/(Z_patch**2*J_merge**2)`` of the S tokens. Features after L_deep layers of the image encoder are added to
    the tokens of the images after the first L_deep layers of the language model. All images have the same size here;
    an image of another shape costs as much as a square one with as many patches.

    >>> Qwen3VL().params  # doctest: +NORMALIZE_WHITESPACE
    L_deep*E_vis**2*J_merge**4 + E_vis**2*J_merge**4 + L_deep*E*E_vis*J_merge**2 + E_vis*Z_patch**2*T_patch*N_chan
    + 2*L*E*A*D + 2*L*E*G*D + 3*L_deep*E_vis*J_merge**2 + E*E_vis*J_merge**2 + 3*L*E*H + 4*L_vis*E_vis**2
    + 2*L_vis*E_vis*H_vis + E_vis*J_merge**2 + 2*L*E + 2*L*D + 9*L_vis*E_vis + L_vis*H_vis + L_deep*E + 2*V*E
    + P_vis*E_vis + 2*E + 3*E_vis
    """

    title = "Qwen3-VL"
    shapes = "pixels[B_vis,N_chan,T_patch,Z,Z], tokens[B,S] -> output"
    language = Qwen3
    constraints = (
        *Qwen3.constraints,
        Divides(4 * A_vis, E_vis),
        Divides(Z_patch * J_merge, Z),
        AtMost(L_deep, L_vis),
        AtMost(L_deep + 1, L),
    )
    config = Fields(
        {
            Z_patch: Field((f"{IMAGE}.patch_size",), 16),
            T_patch: Field((f"{IMAGE}.temporal_patch_size",), 2),
            J_merge: Field((f"{IMAGE}.spatial_merge_size",), 2),
            N_chan: Field((f"{IMAGE}.in_channels",), 3),
            P_vis: Field((f"{IMAGE}.num_position_embeddings",), 2304),
            E_vis: Field((f"{IMAGE}.hidden_size",), 1152),
            H_vis: Field((f"{IMAGE}.intermediate_size",), 4304),
            L_vis: Field((f"{IMAGE}.depth",), 27),
            A_vis: Field((f"{IMAGE}.num_heads",), 16),
            L_deep: ListedLayersField((DEEPSTACK,), 3),
        },
        sections={IMAGE: ""},
        restated={f"{IMAGE}.out_hidden_size": E},
        assumed={f"{IMAGE}.out_hidden_size": 3584},
        fixed={
            **{f"{IMAGE}.model_type": ("qwen3_vl", "qwen3_vl_vision"), f"{TEXT}.model_type": ("qwen3_vl_text",)},
            f"{TEXT}.sliding_window": (None,),  # the cache reads it
            f"{IMAGE}.is_causal": (None,),  # the class does not run with it
        },
        rope_takes=("mrope_section", "mrope_interleaved"),
        inert=("video_token_id", "vision_start_token_id", "vision_end_token_id", f"{TEXT}.tie_word_embeddings"),
    )
    witness = WitnessSpec("Qwen3VL", each_image=True, activation_refusal=unknown("its images"))
    variants: ClassVar[Variants] = ({}, {"head": "none"}, {"tied": True}, {"attention_bias": True})

    tables: ClassVar[str] = INTERLEAVED_ROTARY
    tied: bool = option(BoolField("tie_word_embeddings", False))
    vision_activation: Activation = option(Function(f"{IMAGE}.hidden_act", "gelu_pytorch_tanh"))

    @property
    def totals(self) -> Relations:  # the number of all layers is a size itself
        return FrozenDict()

    @property
    def vision(self) -> Component:
        return NativeResolutionEncoder(activation=self.vision_activation)

    @property
    def projector(self) -> Component:
        return PatchMerger()

    @property
    def stacks(self) -> tuple[Stack, ...]:
        layer = cast(PreNormBlock, self.layer)
        deep = DeepstackBlock(parts=layer.parts)
        return Stack("deepstack_layers", L_deep, deep), Stack("standard_layers", L - L_deep, layer)

    def forward(self, ops: Operations, pixels: Tensor, tokens: Tensor) -> Tensor:  # type: ignore[override]
        with ops.encoder():
            x = ops.call("visual", self.vision, pixels)
            images = ops.call("visual.merger", self.projector, x)
            listed = ops.listed("visual.deepstack", x)
            feature = ops.side_by_side("visual.deepstack_merger_list.*", L_deep, PatchMerger(late=True), listed)
        features = feature.view((images.shape[0], L_deep, *images.shape[1:]))
        return ops.call("", DeepstackLanguageTower(whole=self), tokens, images, features)
