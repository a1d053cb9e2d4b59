"""CLIP."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..components.base import Component
from ..components.layer_norm import LayerNorm
from ..components.linear import Linear
from ..components.mlp import MLP
from ..components.patch_embedding import PatchEmbedding
from ..components.position_embedding import PositionEmbedding
from ..components.pre_norm_block import PreNormBlock
from ..components.self_attention import SelfAttention
from ..components.token_embedding import TokenEmbedding
from ..language.sizes import Divides
from ..language.symbols import A, A_vis, E, E_proj, E_vis, H, H_vis, L, L_vis, N_chan, P, V, Z, Z_patch
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from .base import Architecture, Chance, Field, Fields, Function, Witness, option
from .bases.stacked import with_positions

TEXT, IMAGE = "text_config", "vision_config"
# The width that a class of one of the two alone projects to; what early releases wrote; and there is no head to tie.
UNREAD = ("projection_dim", "dropout", "tie_word_embeddings")


@dataclass(frozen=True, kw_only=True)
class CLIP(Architecture):
    """CLIP, Radford et al. 2021 [radford2021], figure 3: a transformer for texts and one for images, and how alike each
    text is to each image.

    A causal transformer reads texts (section 2.4), and what stands at their end is projected to E_proj elements; a
    vision transformer with a norm before its layers reads images, and so is its class token. The products of the two,
    of length 1 each, are multiplied by a trained factor.

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
            *("logit_scale_init_value", "tie_word_embeddings"),  # the first is where it starts
            *(f"{part}.{name}" for part in (TEXT, IMAGE) for name in UNREAD),
        ),
    )
    heads = {"Model": {}}
    witness = Witness("CLIP", prefix="", cached=False)

    activation: Activation = option(Function(f"{TEXT}.hidden_act", "quick_gelu"))
    vision_activation: Activation = option(Function(f"{IMAGE}.hidden_act", "quick_gelu"))
    attention_dropout: bool = option(Chance(f"{TEXT}.attention_dropout", 0.0))
    vision_dropout: bool = option(Chance(f"{IMAGE}.attention_dropout", 0.0))

    def forward(self, ops: Operations, pixels: Tensor, tokens: Tensor) -> Tensor:
        images = ops.call("visual_projection", Linear(out=E_proj, bias=False), self.see(ops, pixels))
        texts = ops.call("text_projection", Linear(out=E_proj, bias=False), self.read(ops, tokens))
        images, texts = (
            ops.norm(f"{name}_embeds", x, "l2", scale=False, bias=False, module=False)
            for name, x in (("image", images), ("text", texts))
        )
        scale = ops.activation("exp", ops.learned("logit_scale"), "exp", module=False)
        return ops.multiply("logits_per_text", ops.match("cosines", texts, images), scale.view((ONE, ONE)))

    def read(self, ops: Operations, tokens: Tensor) -> Tensor:
        """What stands at the end of each text."""
        x = ops.call("text_model.embeddings.token_embedding", TokenEmbedding(), tokens)
        x = with_positions(ops, "text_model.embeddings.position_embedding", x, added="text_model.embeddings.positions")
        layer = _layer(A, E, H, self.activation, self.attention_dropout, causal=True)
        x = ops.repeat("text_model.encoder.layers", L, layer, x)
        x = ops.call("text_model.final_layer_norm", LayerNorm(), x)
        return ops.select("text_model.end", x, each=True)

    def see(self, ops: Operations, pixels: Tensor) -> Tensor:
        """What each image's class token comes to."""
        name = "vision_model.embeddings"
        x = ops.call(f"{name}.patch_embedding", PatchEmbedding(width=E_vis, bias=False), pixels)
        first = ops.learned(f"{name}.class_embedding", E_vis)
        x = ops.precede(f"{name}.tokens", first.view((ONE, ONE, E_vis)), x)
        table = PositionEmbedding(rows=x.shape[1], width=E_vis, held=True)
        x = with_positions(ops, f"{name}.position_embedding", x, table, f"{name}.positions")
        x = ops.call("vision_model.pre_layrnorm", LayerNorm(), x)  # as it is spelt in torch's class
        layer = _layer(A_vis, E_vis, H_vis, self.vision_activation, self.vision_dropout, causal=False)
        x = ops.repeat("vision_model.encoder.layers", L_vis, layer, x)
        return ops.call("vision_model.post_layernorm", LayerNorm(), ops.select("vision_model.first", x))


def _layer(heads: Expr, width: Expr, hidden: Expr, activation: Activation, dropout: bool, causal: bool) -> Component:
    attention = SelfAttention(
        heads=heads,
        kv_heads=heads,
        head_width=width / heads,
        causal=causal,
        softmax="float32",
        output="out_proj",
        weight_dropout="dropout" if dropout else "",
    )
    mlp = MLP(hidden=hidden, activation=activation, up="fc1", act="activation_fn", down="fc2")
    parts = {"layer_norm1": LayerNorm(), "self_attn": attention, "layer_norm2": LayerNorm(), "mlp": mlp}
    return PreNormBlock(parts=parts)
