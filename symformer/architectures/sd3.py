"""Stable Diffusion 3."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sympy import Integer

from ..components import MLP, JointAttention, JointBlock, PatchEmbedding, RMSNorm, SelfAttention, TextConditioning
from ..components.adaptive_block import PLAIN_NORM, modulate, modulation
from ..configs.dual_attention_layers import DUAL, DualAttention, DualAttentionLayers
from ..configs.latent_fields import LatentSideField, ProjectedWidthField
from ..language.frozen import FrozenDict
from ..language.sizes import AtMost, Condition, Divides, Relations
from ..language.symbols import A, B, E, E_joint, E_pool, L, L_dual, N_chan, N_out, Z, Z_patch
from ..ledger.facts import ONE, Tensor
from ..ledger.operations import Operations
from .base_architecture import Choice, Field, Fields, WitnessSpec, option
from .bases.stacked import Stack, Stacked, run_stacks

HEAD_NORM = RMSNorm(cast=False)
DEPTH = Field(("num_layers",), 18)
IMAGE = Z**2 / Z_patch**2  # the number of patches


@dataclass(frozen=True, kw_only=True)
class SD3(Stacked):
    """The transformer of Stable Diffusion 3, Esser et al. 2024 [esser2024], section 4 and figure 2 (MM-DiT).

    The input is a noisy latent of Z by Z positions with N_chan channels, and a text that other models have encoded.
    Each of the L blocks has separate weights for the text and for the patches of the latent, and one attention over
    both. In the last block, only the image has an output. In Stable Diffusion 3.5, queries and keys are normalized; in
    its medium model, L_dual blocks have a second attention, of the image alone. The fixed sinusoidal positions, which
    checkpoints also store, are not counted as parameters. The paper's depth d is L, and its width 64·d is E.

    >>> SD3().params  # doctest: +NORMALIZE_WHITESPACE
    E*Z_patch**2*N_chan + E*Z_patch**2*N_out + 36*L*E**2 + Z_patch**2*N_out + 30*L*E - 9*E**2 + E*E_joint + E*E_pool
    + 254*E
    """

    title = "Stable Diffusion 3"
    shapes = "latent[B,N_chan,Z,Z], text[B,S_txt,E_joint], pooled[B,E_pool], timesteps[B] -> output"
    further_inputs = {
        "pooled": "is the pooled embedding of the prompt",
        "text": "are the embeddings of the prompt's tokens",
        "timesteps": "are the timesteps",
    }
    config = Fields(
        {
            Z_patch: Field(("patch_size",), 2),
            Z: LatentSideField(("sample_size",), 128),
            N_chan: Field(("in_channels",), 16),
            N_out: Field(("out_channels",), 16),
            A: Field(("num_attention_heads",), 18),
            E: ProjectedWidthField(("attention_head_dim",), 64, of=A),
            L: DEPTH,
            E_joint: Field(("joint_attention_dim",), 4096),
            E_pool: Field(("pooled_projection_dim",), 2048),
        },
        layers=DualAttentionLayers({"dual": L_dual}, (), DEPTH, DUAL),
        classes={"SD3Transformer2DModel": {}},
        inert=("_class_name", "_diffusers_version"),
    )
    witness = WitnessSpec(functions=("net.0.gelu", "pos_embed.sines"), library="diffusers", prefix="")
    variants = ({}, {"head_norms": True}, {"dual": True}, {"head_norms": True, "dual": True})

    dual: bool = option(DualAttention())  # whether L_dual blocks have a second attention
    head_norms: bool = option(Choice("qk_norm", {None: False, "rms_norm": True}, None))

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # depends on the options
        least = L_dual + 2 if self.dual else Integer(2)
        # sines and cosines of rows and columns
        return (Divides(A, E), Divides(Z_patch, Z), Divides(Integer(4), E), AtMost(least, L))

    @property
    def totals(self) -> Relations:  # the number of all layers is a size itself
        return FrozenDict()

    @property
    def layer(self) -> JointBlock:
        mlp = MLP(hidden=4 * E, activation="gelu_pytorch_tanh", up="net.0.proj", act="net.0.gelu", down="net.2")
        attention = JointAttention(head_norm=HEAD_NORM if self.head_norms else None, image=IMAGE)
        return JointBlock(attention=attention, mlp=mlp, image=IMAGE)

    @property
    def image_attention(self) -> SelfAttention:
        """Return the second attention of a block, of the image alone."""
        return SelfAttention(
            kv_heads=A,
            head_width=E / A,
            causal=False,
            head_norm=HEAD_NORM if self.head_norms else None,
            query="to_q",
            key="to_k",
            value="to_v",
            output="to_out.0",
            query_norm="norm_q",
            key_norm="norm_k",
        )

    @property
    def stacks(self) -> tuple[Stack, ...]:
        last = replace(self.layer, last=True, attention=replace(self.layer.attention, text_output=False))
        plain = Stack("joint_blocks", L - (L_dual if self.dual else 0) - 1, self.layer)
        dual = Stack("dual_blocks", L_dual, replace(self.layer, second=self.image_attention))
        return (*([dual] if self.dual else []), plain, Stack("last_block", ONE, last))

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.linear("proj_out", x, Z_patch**2 * N_out).view((B, N_out, Z, Z))

    def forward(self, ops: Operations, latent: Tensor, *others: Any) -> Tensor:
        words, pooled, timesteps = others
        image = ops.call("pos_embed.proj", PatchEmbedding(), latent)
        image = ops.add("pos_embed.sum", image, ops.positions("pos_embed.sines", image.shape[1], E, "sinusoidal"))
        c = ops.call("time_text_embed", TextConditioning(), timesteps, pooled)
        both = ops.prepend("both", ops.linear("context_embedder", words, E), image)
        contexts = ((c,),) * len(self.stacks)
        both = run_stacks(ops, "transformer_blocks", self.stacks, both, contexts, order="kind by kind")
        image = ops.part_of_sequence("image", both, IMAGE, "last")
        scale, shift = modulation(ops, "norm_out.silu", "norm_out.linear", c, 2)
        image = modulate(ops, "norm_out", ops.call("norm_out.norm", PLAIN_NORM, image), shift, scale)
        return self.finish(ops, image)
