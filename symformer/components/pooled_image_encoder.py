"""Image encoder with attention pooling."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.sizes import Divides
from ..language.symbols import A, E, H, L, Z, Z_patch
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .attention_pooling import AttentionPooling
from .base import Component
from .layer_norm import LayerNorm
from .mlp import MLP
from .patch_embedding import PatchEmbedding
from .position_embedding import PositionEmbedding
from .text_encoder import encoder_layer


@dataclass(frozen=True, kw_only=True)
class PooledImageEncoder(Component):
    """A vision transformer without a class token. Attention pools the normalized patches, Zhai et al. 2023 [zhai2023].

    >>> PooledImageEncoder().params
    E*Z_patch**2*N_chan + 4*L*E**2 + 2*L*E*H + 9*L*E + L*H + 4*E**2 + 2*E*H + 11*E + E*Z**2/Z_patch**2 + H
    """

    title = "Image encoder with attention pooling"
    role = "tower"
    tower = "vision"
    shapes = "pixels[B,N_chan,Z,Z] -> x[B,E]"
    constraints = (Divides(A, E), Divides(Z_patch, Z))

    depth: Expr = L
    width: Expr = E
    heads: Expr = A
    hidden: Expr = H
    activation: Activation = "gelu_pytorch_tanh"
    dropout: bool = False  # of attention weights

    def forward(self, ops: Operations, pixels: Tensor) -> Tensor:
        return self.pool(ops, self.encode(ops, pixels))

    def encode(self, ops: Operations, pixels: Tensor) -> Tensor:
        """Return the normalized output of the last layer for every patch."""
        x = ops.call("embeddings.patch_embedding", PatchEmbedding(width=self.width), pixels)
        table = PositionEmbedding(rows=x.shape[1], width=self.width, held=True)
        places = ops.call("embeddings.position_embedding", table, ops.index("places", 1, x.shape[1]))
        x = ops.add("embeddings.positions", x, places)
        layer = encoder_layer(self.heads, self.width, self.hidden, self.activation, self.dropout, causal=False)
        return ops.call("post_layernorm", LayerNorm(), ops.repeat("encoder.layers", self.depth, layer, x))

    def pool(self, ops: Operations, x: Tensor) -> Tensor:
        """Return the output: the normalized patches, pooled by attention."""
        mlp = MLP(hidden=self.hidden, activation=self.activation, up="fc1", act="activation_fn", down="fc2")
        return ops.call("head", AttentionPooling(heads=self.heads, mlp=mlp), x)
