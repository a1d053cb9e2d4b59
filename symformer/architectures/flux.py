"""FLUX.1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..components import (
    MLP,
    JointAttention,
    JointBlock,
    RMSNorm,
    RotaryPositions,
    SelfAttention,
    SingleStreamBlock,
    TextConditioning,
)
from ..components.adaptive_block import PLAIN_NORM, modulate, modulation
from ..components.rotary_positions import IDS
from ..configs.rotary_axes import RotaryAxesField
from ..language.sizes import Divides
from ..language.symbols import (
    A,
    E,
    E_joint,
    E_pool,
    L_double,
    L_single,
    N_chan,
    N_out,
    S_img,
    Z_patch,
)
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import Architecture, BoolField, Field, Fields, WitnessSpec, option

HEAD_NORM = RMSNorm(cast=False)


@dataclass(frozen=True, kw_only=True)
class Flux(Architecture):
    """The transformer of FLUX.1, Labs et al. 2025 [labs2025], section 2: L_double blocks in which the text and the
    image have their own weights, as in Stable Diffusion 3, followed by L_single blocks for both sequences together.

    The input of the image has S_img tokens of N_chan channels, each for 2 by 2 positions of the latent in FLUX.1. The
    text is encoded by other models. Rotary angles depend on the row and the column of a token; the integer positions
    are inputs. FLUX.1 [dev] also reads a guidance scale.

    >>> Flux().params  # doctest: +NORMALIZE_WHITESPACE
    E*Z_patch**2*N_out + 36*L_double*E**2 + 15*L_single*E**2 + Z_patch**2*N_out + 30*L_double*E + 11*L_single*E + 4*E**2
    + E*E_joint + E*E_pool + E*N_chan + 4*L_double*E/A + 2*L_single*E/A + 264*E
    """

    title = "FLUX.1"
    further_inputs = {
        "pooled": "is the pooled embedding of the prompt",
        "text": "are the embeddings of the prompt's tokens",
        "timesteps": "are the timesteps",
    }
    constraints = (Divides(2 * A, E),)  # each axis of positions rotates an even number of elements of a head

    config = Fields(
        {
            Z_patch: Field(("patch_size",), 1),
            N_chan: Field(("in_channels",), 64),
            N_out: Field(("out_channels",), N_chan, null=True),
            L_double: Field(("num_layers",), 19),
            L_single: Field(("num_single_layers",), 38),
            E: RotaryAxesField(("attention_head_dim",), 128, of=A),
            A: Field(("num_attention_heads",), 24),
            E_joint: Field(("joint_attention_dim",), 4096),
            E_pool: Field(("pooled_projection_dim",), 768),
        },
        classes={"FluxTransformer2DModel": {}},
        inert=("_class_name", "_diffusers_version"),
    )
    witness = WitnessSpec(functions=("net.0.gelu", "guidance_proj"), library="diffusers", prefix="")
    variants = ({}, {"guidance": True})

    guidance: bool = option(BoolField("guidance_embeds", False))

    @property
    def shapes(self) -> str:  # type: ignore[override]  # the guidance scale is an optional input
        given = "latent[B,S_img,N_chan], text[B,S_txt,E_joint], pooled[B,E_pool], timesteps[B]"
        given += ", image_ids[S_img,3], text_ids[S_txt,3]"
        return f"{given}{', guidance[B]' if self.guidance else ''} -> output[B,S_img,N_out*Z_patch**2]"

    @property
    def joint_block(self) -> JointBlock:
        """Return a block with separate weights for the text and the image."""
        mlp = MLP(hidden=4 * E, activation="gelu_pytorch_tanh", up="net.0.proj", act="net.0.gelu", down="net.2")
        return JointBlock(attention=JointAttention(head_norm=HEAD_NORM, rotated=True), mlp=mlp)

    @property
    def single_block(self) -> SingleStreamBlock:
        """Return a block for both sequences together."""
        attention = SelfAttention(
            kv_heads=A,
            head_width=E / A,
            causal=False,
            head_norm=HEAD_NORM,
            positions=RotaryPositions(width=E / A, axes=IDS),
            query="to_q",
            key="to_k",
            value="to_v",
            output="",
            query_norm="norm_q",
            key_norm="norm_k",
        )
        return SingleStreamBlock(attention=attention, hidden=4 * E, activation="gelu_pytorch_tanh")

    def forward(
        self, ops: Operations, latent: Tensor, words: Tensor, pooled: Tensor, timesteps: Tensor, *others: Any
    ) -> Tensor:
        guidance = others[2:]  # after the positions of the image and of the text
        image = ops.linear("x_embedder", latent, E)
        c = ops.call("time_text_embed", TextConditioning(guidance=self.guidance), timesteps, pooled, *guidance)
        both = ops.prepend("both", ops.linear("context_embedder", words, E), image)
        angles = ops.positions("pos_embed", both.shape[1], E / A, "rotary")
        both = ops.repeat("transformer_blocks", L_double, self.joint_block, both, c, angles)
        both = ops.repeat("single_transformer_blocks", L_single, self.single_block, both, c, angles)
        image = ops.part_of_sequence("image", both, S_img, "last")
        scale, shift = modulation(ops, "norm_out.silu", "norm_out.linear", c, 2)
        image = modulate(ops, "norm_out", ops.call("norm_out.norm", PLAIN_NORM, image), shift, scale)
        return ops.linear("proj_out", image, Z_patch**2 * N_out)
