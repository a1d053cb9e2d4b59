"""DiT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sympy import Integer

from ..components import MLP, AdaptiveBlock, Component, Conditioning, PatchEmbedding, SelfAttention
from ..components.adaptive_block import PLAIN_NORM, modulate, modulation
from ..language.sizes import Divides
from ..language.symbols import A, B, E, L, N_chan, N_class, N_out, Z, Z_patch
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import Architecture, BoolField, Choice, Field, Fields, MultipleField, WitnessSpec, option

BLOCKS = "transformer_blocks"
CLASSES = {"DiTTransformer2DModel": {"embedders": "each"}, "symformer.witness.models.dit:DiT": {"embedders": "one"}}


@dataclass(frozen=True, kw_only=True)
class DiT(Architecture):
    """The diffusion transformer with adaLN-Zero, Peebles and Xie 2023 [peebles2023], section 3.2 and figure 3.

    The input is a noisy latent of Z by Z positions, and the output has N_out numbers for each position: the noise and
    its variances, so N_out = 2·N_chan. A timestep and a class determine the scales, shifts and gates of every block.
    The paper's N, d, p and I are L, E, Z_patch and Z; its T is Z²/Z_patch².

    In the authors' code, the sinusoidal positions are a weight that is not trained. With ``embedders=each``, as in
    diffusers, they are not a weight, and each block has its own class table and two timestep matrices. The first
    block's are used again before the output.

    >>> DiT().params  # doctest: +NORMALIZE_WHITESPACE
    E*Z_patch**2*N_chan + E*Z_patch**2*N_out + 18*L*E**2 + Z_patch**2*N_out + 15*L*E + 3*E**2 + E*N_class
    + 262*E + E*Z**2/Z_patch**2
    """

    title = "DiT"
    shapes = "latent[B,N_chan,Z,Z], timesteps[B], labels[B] -> output"
    further_inputs = {"timesteps": "are the timesteps"}
    constraints = (Divides(A, E), Divides(Z_patch, Z), Divides(Integer(4), E))  # sines and cosines of rows and columns

    config = Fields(
        {
            Z: Field(("sample_size",), 32),
            Z_patch: Field(("patch_size",), 2),
            N_chan: Field(("in_channels",), 4),
            N_out: Field(("out_channels",), N_chan, null=True),
            N_class: Field(("num_embeds_ada_norm",), 1000),
            E: MultipleField(("attention_head_dim",), 72, of=A),
            L: Field(("num_layers",), 28),
            A: Field(("num_attention_heads",), 16),
        },
        classes=CLASSES,
        fixed={
            "norm_type": ("ada_norm_zero",),
            "norm_elementwise_affine": (False,),
            "upcast_attention": (False,),
            # fields of Transformer2DModel, from which the class was split
            **dict.fromkeys(("cross_attention_dim", "num_vector_embeds", "caption_channels"), (None,)),
            **dict.fromkeys(("only_cross_attention", "double_self_attention", "use_linear_projection"), (False,)),
            "attention_type": ("default",),
        },
        inert=("_class_name", "_diffusers_version", "norm_num_groups", "norm_eps", "dropout"),
    )
    witness = WitnessSpec(
        library="diffusers",
        prefix="",
        functions=("net.0.gelu", "pos_embed.sines", "silu"),
        author="the diffusers class, modified by symformer to share one embedder",
    )
    variants = ({}, {"embedders": "each"}, {"qkv_bias": False})

    embedders: Literal["one", "each"] = "one"  # of timesteps and classes: one for the model, or one in each block
    qkv_bias: bool = option(BoolField("attention_bias", True))
    activation: Literal["gelu_pytorch_tanh", "gelu"] = option(
        Choice("activation_fn", {"gelu-approximate": "gelu_pytorch_tanh", "gelu": "gelu"}, "gelu-approximate")
    )

    @property
    def block(self) -> AdaptiveBlock:
        attention = SelfAttention(
            heads=A,
            kv_heads=A,
            head_width=E / A,
            bias=self.qkv_bias,
            causal=False,
            query="to_q",
            key="to_k",
            value="to_v",
            output="to_out.0",
        )
        mlp = MLP(hidden=4 * E, activation=self.activation, up="net.0.proj", act="net.0.gelu", down="net.2")
        own: Component | None = Conditioning() if self.embedders == "each" else None
        return AdaptiveBlock(attention=attention, mlp=mlp, conditioning=own)

    def forward(self, ops: Operations, latent: Tensor, timesteps: Tensor, labels: Tensor) -> Tensor:
        x = ops.call("pos_embed.proj", PatchEmbedding(), latent)
        if self.embedders == "each":
            places = ops.positions("pos_embed.sines", x.shape[1], E, "sinusoidal")
            x = ops.add("pos_embed.sum", x, places)
            x = ops.repeat(BLOCKS, L, self.block, x, timesteps, labels)
            c = ops.call(f"{BLOCKS}.0.norm1.emb", Conditioning(), timesteps, labels, f"{BLOCKS}.*.norm1.emb")
        else:
            places = ops.learned("pos_embed.pos_embed", Integer(1), x.shape[1], E, fixed=True)
            x = ops.add("pos_embed.sum", x, places)
            c = ops.call("emb", Conditioning(), timesteps, labels)
            x = ops.repeat(BLOCKS, L, self.block, x, c)
        y = ops.call("norm_out", PLAIN_NORM, x)
        shift, scale = modulation(ops, "silu", "proj_out_1", c, 2)
        x = modulate(ops, "norm_out", y, shift, scale)
        return ops.linear("proj_out_2", x, Z_patch**2 * N_out).view((B, N_out, Z, Z))
