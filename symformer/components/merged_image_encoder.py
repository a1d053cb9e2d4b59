"""Image encoder that merges patches."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.sizes import Divides
from ..language.symbols import A_vis, B_vis, E_vis, H_vis, J_merge, L_deep, L_vis, P_vis, T_patch, Z, Z_patch
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from .base import Component
from .layer_norm import LayerNorm
from .mlp import MLP
from .patch_merger import PatchMerger
from .pre_norm_block import PreNormBlock
from .rotary_positions import RotaryPositions
from .self_attention import SelfAttention

PATCHES = Z**2 / Z_patch**2
NEAREST = 4  # rows of the table of positions around a patch


@dataclass(frozen=True, kw_only=True)
class MergedImageEncoder(Component):
    """A vision transformer for images of any size, Bai et al. 2025 [bai2025], section 2.

    The positions of the patches are interpolated from a square table with P_vis rows, and queries and keys are rotated
    by the row and the column of their patch. A merger turns squares of patches into tokens. L_deep further mergers do
    the same after L_deep of the layers, Meng et al. 2024 [meng2024]. A patch has T_patch frames; those of an image are
    equal.

    >>> MergedImageEncoder().params  # doctest: +SKIP
    """

    title = "Image encoder with merged patches"
    role = "tower"
    tower = "vision"
    shapes = (
        "pixels[B_vis,N_chan,T_patch,Z,Z] -> x[B_vis,Z**2/(Z_patch**2*J_merge**2),E], "
        "features[B_vis,Z**2/(Z_patch**2*J_merge**2),E]"
    )
    constraints = (Divides(A_vis, E_vis), Divides(4 * A_vis, E_vis), Divides(Z_patch * J_merge, Z))

    activation: Activation = "gelu_pytorch_tanh"

    @property
    def block(self) -> PreNormBlock:
        """Return a layer."""
        attention = SelfAttention(
            heads=A_vis,
            kv_heads=A_vis,
            head_width=E_vis / A_vis,
            causal=False,
            positions=RotaryPositions(width=E_vis / A_vis, tokens=PATCHES),
            softmax="float32",
            fused="qkv",
            output="proj",
        )
        mlp = MLP(hidden=H_vis, activation=self.activation, up="linear_fc1", act="act_fn", down="linear_fc2")
        return PreNormBlock(parts={"norm1": LayerNorm(), "attn": attention, "norm2": LayerNorm(), "mlp": mlp})

    def forward(self, ops: Operations, pixels: Tensor) -> tuple[Tensor, Tensor]:
        kernel = (T_patch, Z_patch, Z_patch)
        x = ops.channels_last(ops.convolution("patch_embed.proj", pixels, E_vis, kernel, stride=Z_patch))
        rows = ops.lookup("pos_embed", ops.index("nearest", PATCHES, NEAREST), P_vis, E_vis, "positions")
        places = ops.resample("interpolated", rows)
        x = ops.add("embeddings", x, places.view((ONE, PATCHES, E_vis)))
        angles = ops.positions("rotary_pos_emb", PATCHES, E_vis / A_vis, "rotary")
        x = ops.repeat("blocks", L_vis, self.block, x, angles)
        tokens = ops.call("merger", PatchMerger(), x)
        features = ops.call_each("deepstack_merger_list", L_deep, PatchMerger(late=True), ops.listed("deepstack", x))
        return tokens, features
