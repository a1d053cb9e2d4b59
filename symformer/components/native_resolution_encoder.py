"""Image encoder for images of any size."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.sizes import Divides
from ..language.symbols import A_vis, E_vis, H_vis, L_vis, P_vis, T_patch, Z, Z_patch
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Component
from .layer_norm import LayerNorm
from .mlp import MLP
from .pre_norm_block import PreNormBlock
from .rotary_positions import GRID, RotaryPositions
from .self_attention import SelfAttention

PATCHES = Z**2 / Z_patch**2
NEAREST = 4  # rows of the table of positions around a patch


@dataclass(frozen=True, kw_only=True)
class NativeResolutionEncoder(Component):
    """A vision transformer for images of any size, Bai et al. 2025 [bai2025], section 2: the positions of the patches
    are interpolated from a square grid of P_vis learned positions, and queries and keys are rotated by the row and the
    column of their patch. A patch has T_patch frames, which are equal for an image.

    >>> NativeResolutionEncoder().params  # doctest: +NORMALIZE_WHITESPACE
    E_vis*Z_patch**2*T_patch*N_chan + 4*L_vis*E_vis**2 + 2*L_vis*E_vis*H_vis + 9*L_vis*E_vis + L_vis*H_vis
    + P_vis*E_vis + E_vis
    """

    title = "Image encoder for any image size"
    role = "tower"
    tower = "vision"
    shapes = "pixels[B,N_chan,T_patch,Z,Z] -> x[B,Z**2/Z_patch**2,E_vis]"
    constraints = (Divides(4 * A_vis, E_vis), Divides(Z_patch, Z))  # a rotation by rows and columns

    activation: Activation = "gelu_pytorch_tanh"

    @property
    def block(self) -> PreNormBlock:
        """Return a layer."""
        attention = SelfAttention(
            heads=A_vis,
            kv_heads=A_vis,
            head_width=E_vis / A_vis,
            causal=False,
            positions=RotaryPositions(width=E_vis / A_vis, tokens=PATCHES, axes=GRID, whole=True),
            softmax="float32",
            fused="qkv",
            output="proj",
        )
        mlp = MLP(hidden=H_vis, activation=self.activation, up="linear_fc1", act="act_fn", down="linear_fc2")
        return PreNormBlock(parts={"norm1": LayerNorm(), "attn": attention, "norm2": LayerNorm(), "mlp": mlp})

    def forward(self, ops: Operations, pixels: Tensor) -> Tensor:
        kernel = (T_patch, Z_patch, Z_patch)
        x = ops.channels_last(ops.convolution("patch_embed.proj", pixels, E_vis, kernel, stride=Z_patch))
        rows = ops.lookup(
            "pos_embed", ops.index("nearest", pixels.shape[0], PATCHES, NEAREST), P_vis, E_vis, "positions"
        )
        places = ops.resample("interpolated", rows)
        x = ops.add("embeddings", x, places)
        angles = ops.positions("rotary_pos_emb", PATCHES, E_vis / A_vis, "rotary")
        return ops.repeat("blocks", L_vis, self.block, x, angles)
