"""SigLIP."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import PooledImageEncoder, TextEncoder
from ..language.sizes import Divides
from ..language.symbols import A, A_vis, E, H, H_vis, L, L_vis, N_chan, P, V, Z, Z_patch
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import Architecture, Field, Fields, Function, ProbabilityField, WitnessSpec, option, unknown
from .bases.siglip_vision import WholePatches

TEXT, IMAGE = "text_config", "vision_config"


@dataclass(frozen=True, kw_only=True)
class SigLIP(Architecture):
    """SigLIP, Zhai et al. 2023 [zhai2023], section 3: a text encoder, an image encoder, and the similarity of each text
    to each image, trained with a sigmoid loss.

    Both encoders are bidirectional and have the same width E. The output of the text encoder is a projection of its
    last token; the image encoder has attention pooling. Both outputs are normalized to length 1. Their dot products are
    multiplied by a trained factor, and a trained number is added.

    >>> SigLIP().params  # doctest: +NORMALIZE_WHITESPACE
    E*Z_patch**2*N_chan + 4*L*E**2 + 2*L*E*H + 4*L_vis*E**2 + 2*L_vis*E*H_vis
    + 9*L*E + L*H + 9*L_vis*E + L_vis*H_vis + V*E + P*E + 5*E**2 + 2*E*H_vis
    + 14*E + E*Z**2/Z_patch**2 + H_vis + 2
    """

    title = "SigLIP"
    shapes = "pixels[B_vis,N_chan,Z,Z], tokens[B,S] -> output"
    constraints = (Divides(A, E), Divides(A_vis, E), Divides(Z_patch, Z))

    config = Fields(
        {
            V: Field((f"{TEXT}.vocab_size",), 32000),
            P: Field((f"{TEXT}.max_position_embeddings",), 64),
            E: Field((f"{TEXT}.hidden_size",), 768, twins=(f"{IMAGE}.hidden_size",)),
            H: Field((f"{TEXT}.intermediate_size",), 3072),
            L: Field((f"{TEXT}.num_hidden_layers",), 12),
            A: Field((f"{TEXT}.num_attention_heads",), 12),
            Z: WholePatches((f"{IMAGE}.image_size",), 224),
            Z_patch: Field((f"{IMAGE}.patch_size",), 16),
            N_chan: Field((f"{IMAGE}.num_channels",), 3),
            H_vis: Field((f"{IMAGE}.intermediate_size",), 3072),
            L_vis: Field((f"{IMAGE}.num_hidden_layers",), 12),
            A_vis: Field((f"{IMAGE}.num_attention_heads",), 12),
        },
        sections={TEXT: "", IMAGE: ""},
        restated={f"{TEXT}.projection_size": E},
        fixed={
            **{f"{TEXT}.model_type": ("siglip_text_model",), f"{IMAGE}.model_type": ("siglip_vision_model",)},
            f"{IMAGE}.vision_use_head": (True,),
        },
    )
    heads = {"Model": {}}
    witness = WitnessSpec(
        "Siglip",
        functions=("self_attn.dropout",),
        prefix="",
        cached=False,
        activation_refusal=unknown("its attention pooling"),
    )

    activation: Activation = option(Function(f"{TEXT}.hidden_act", "gelu_pytorch_tanh"))
    vision_activation: Activation = option(Function(f"{IMAGE}.hidden_act", "gelu_pytorch_tanh"))
    attention_dropout: bool = option(ProbabilityField(f"{TEXT}.attention_dropout", 0.0))
    vision_dropout: bool = option(ProbabilityField(f"{IMAGE}.attention_dropout", 0.0))

    def forward(self, ops: Operations, pixels: Tensor, tokens: Tensor) -> Tensor:
        look = PooledImageEncoder(
            depth=L_vis, heads=A_vis, hidden=H_vis, activation=self.vision_activation, dropout=self.vision_dropout
        )
        read = TextEncoder(activation=self.activation, dropout=self.attention_dropout, causal=False)
        images, texts = ops.call("vision_model", look, pixels), ops.call("text_model", read, tokens)
        images, texts = (
            ops.norm(name, x, "l2", scale=False, bias=False, module=False)
            for name, x in (("image_embeds", images), ("text_embeds", texts))
        )
        scale = ops.activation("exp", ops.learned("logit_scale", ONE), "exp", module=False)
        similarities = ops.pairwise_products("cosines", texts, images)
        similarities = ops.multiply("scaled_cosines", similarities, scale.view((ONE, ONE)))
        return ops.add("logits_per_text", similarities, ops.learned("logit_bias", ONE).view((ONE, ONE)))
