"""Image encoder."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.sizes import Divides
from ..language.symbols import A, E, H, L, Z, Z_patch
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from .base import Component
from .layer_norm import LayerNorm
from .patch_embedding import PatchEmbedding
from .position_embedding import PositionEmbedding
from .text_encoder import encoder_layer


@dataclass(frozen=True, kw_only=True)
class ImageEncoder(Component):
    """A vision transformer with an additional norm before its layers. The output is the normalized class token, Radford
    et al. 2021 [radford2021], section 2.4.

    >>> ImageEncoder().params
    E*Z_patch**2*N_chan + 4*L*E**2 + 2*L*E*H + 9*L*E + L*H + 6*E + E*Z**2/Z_patch**2
    """

    title = "Image encoder"
    role = "tower"
    tower = "vision"
    shapes = "pixels[B,N_chan,Z,Z] -> x[B,E]"
    constraints = (Divides(A, E), Divides(Z_patch, Z))

    depth: Expr = L
    width: Expr = E
    heads: Expr = A
    hidden: Expr = H
    activation: Activation = "quick_gelu"
    dropout: bool = False  # of attention weights

    def forward(self, ops: Operations, pixels: Tensor) -> Tensor:
        return self.pool(ops, self.run_layers(ops, self.embed(ops, pixels)))

    def embed(self, ops: Operations, pixels: Tensor) -> Tensor:
        """Return the input of the first layer: the class token and the patches, with positions, normalized."""
        x = ops.call("embeddings.patch_embedding", PatchEmbedding(width=self.width, bias=False), pixels)
        first = ops.learned("embeddings.class_embedding", self.width).view((ONE, ONE, self.width))
        x = ops.prepend("embeddings.tokens", first, x)
        table = PositionEmbedding(rows=x.shape[1], width=self.width, held=True)
        places = ops.call("embeddings.position_embedding", table, ops.index("places", 1, x.shape[1]))
        return ops.call("pre_layrnorm", LayerNorm(), ops.add("embeddings.positions", x, places))  # torch's spelling

    def run_layers(self, ops: Operations, x: Tensor) -> Tensor:
        """Return the output of the last layer."""
        layer = encoder_layer(self.heads, self.width, self.hidden, self.activation, self.dropout, causal=False)
        return ops.repeat("encoder.layers", self.depth, layer, x)

    def pool(self, ops: Operations, x: Tensor) -> Tensor:
        """Return the output, given the output of the last layer: the normalized class token."""
        return ops.call("post_layernorm", LayerNorm(), ops.select("first", x))
