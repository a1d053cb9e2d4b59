"""CLIP."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import ImageEncoder, Linear, TextEncoder
from ..language.sizes import Divides
from ..language.symbols import A, A_vis, E, E_proj, E_vis, H, H_vis, L, L_vis, N_chan, P, V, Z, Z_patch
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import Architecture, Field, Fields, Function, ProbabilityField, WitnessSpec, option

TEXT, IMAGE = "text_config", "vision_config"
# The projection width of the single-tower classes; a field of early releases; and there is no head to tie.
UNREAD = ("projection_dim", "dropout", "tie_word_embeddings")


@dataclass(frozen=True, kw_only=True)
class CLIP(Architecture):
    """CLIP, Radford et al. 2021 [radford2021], figure 3: a text encoder, an image encoder, and the similarity of each
    text to each image.

    The text encoder is a causal transformer (section 2.4), and the image encoder is a vision transformer with a norm
    before its layers. The end-of-text token and the class token are projected to E_proj elements and normalized to
    length 1. Their dot products are multiplied by a trained factor.

    >>> CLIP().params  # doctest: +NORMALIZE_WHITESPACE
    E_vis*Z_patch**2*N_chan + 4*L*E**2 + 2*L*E*H + 4*L_vis*E_vis**2 + 2*L_vis*E_vis*H_vis
    + 9*L*E + L*H + 9*L_vis*E_vis + L_vis*H_vis + V*E + P*E + E*E_proj + E_vis*E_proj
    + 2*E + 6*E_vis + E_vis*Z**2/Z_patch**2 + 1
    """

    title = "CLIP"
    shapes = "pixels[B_vis,N_chan,Z,Z], tokens[B,S] -> output"
    constraints = (Divides(A, E), Divides(A_vis, E_vis), Divides(Z_patch, Z))

    config = Fields(
        {
            V: Field((f"{TEXT}.vocab_size",), 49408),
            P: Field((f"{TEXT}.max_position_embeddings",), 77),
            E: Field((f"{TEXT}.hidden_size",), 512),
            H: Field((f"{TEXT}.intermediate_size",), 2048),
            L: Field((f"{TEXT}.num_hidden_layers",), 12),
            A: Field((f"{TEXT}.num_attention_heads",), 8),
            Z: Field((f"{IMAGE}.image_size",), 224),
            Z_patch: Field((f"{IMAGE}.patch_size",), 32),
            N_chan: Field((f"{IMAGE}.num_channels",), 3),
            E_vis: Field((f"{IMAGE}.hidden_size",), 768),
            H_vis: Field((f"{IMAGE}.intermediate_size",), 3072),
            L_vis: Field((f"{IMAGE}.num_hidden_layers",), 12),
            A_vis: Field((f"{IMAGE}.num_attention_heads",), 12),
            E_proj: Field(("projection_dim",), 512),
        },
        sections={TEXT: f"{TEXT}_dict", IMAGE: f"{IMAGE}_dict"},
        fixed={f"{TEXT}.model_type": ("clip_text_model",), f"{IMAGE}.model_type": ("clip_vision_model",)},
        inert=(
            *("logit_scale_init_value", "tie_word_embeddings"),  # the first is an initial value
            *(f"{part}.{name}" for part in (TEXT, IMAGE) for name in UNREAD),
        ),
    )
    heads = {"Model": {}}
    witness = WitnessSpec("CLIP", functions=("self_attn.dropout",), prefix="", cached=False)

    activation: Activation = option(Function(f"{TEXT}.hidden_act", "quick_gelu"))
    vision_activation: Activation = option(Function(f"{IMAGE}.hidden_act", "quick_gelu"))
    attention_dropout: bool = option(ProbabilityField(f"{TEXT}.attention_dropout", 0.0))
    vision_dropout: bool = option(ProbabilityField(f"{IMAGE}.attention_dropout", 0.0))

    def forward(self, ops: Operations, pixels: Tensor, tokens: Tensor) -> Tensor:
        look = ImageEncoder(
            depth=L_vis,
            width=E_vis,
            heads=A_vis,
            hidden=H_vis,
            activation=self.vision_activation,
            dropout=self.vision_dropout,
        )
        read = TextEncoder(activation=self.activation, dropout=self.attention_dropout)
        project = Linear(out=E_proj, bias=False)
        images = ops.call("visual_projection", project, ops.call("vision_model", look, pixels))
        texts = ops.call("text_projection", project, ops.call("text_model", read, tokens))
        images = _of_length_one(ops, "image_embeds", images)
        texts = _of_length_one(ops, "text_embeds", texts)
        scale = ops.activation("exp", ops.learned("logit_scale"), "exp", module=False)
        return ops.multiply("logits_per_text", ops.pairwise_products("cosines", texts, images), scale.view((ONE, ONE)))


def _of_length_one(ops: Operations, name: str, x: Tensor) -> Tensor:
    return ops.norm(name, x, "l2", scale=False, bias=False, module=False)
