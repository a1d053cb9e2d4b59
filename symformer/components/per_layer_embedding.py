"""Per-layer embeddings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr

from ..language.symbols import E_pli, L, V_pli
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component


@dataclass(frozen=True, kw_only=True)
class PerLayerEmbedding(Component):
    """Embeddings of width E_pli for each token and each of the L layers, Google DeepMind 2025 [google2025]: rows of a
    second table, added to a normalized projection of the token's embedding. Each layer reads its own embedding, so the
    table does not need to be in the memory of the accelerator.

    >>> PerLayerEmbedding().params
    L*V_pli*E_pli + L*E*E_pli + E_pli
    """

    title = "Per-layer embeddings"
    role = "embeddings"
    purpose = "A second table gives each layer an embedding of each token of its own."
    shapes = "tokens[B,S], x[B,S,E] -> per_layer[B,S,L,E_pli]"

    rows: Expr = V_pli
    norm: str = "rms"  # the function of the norm

    def split(self, cut: Cut) -> PerLayerEmbedding:
        return replace(self, rows=cut.rows(self.rows))

    def forward(self, ops: Operations, tokens: Tensor, x: Tensor) -> Tensor:
        width = L * E_pli
        layers = (*tokens.shape, L, E_pli)
        rows = ops.scale(
            "per_layer_embed_scale", ops.lookup("embed_tokens_per_layer", tokens, self.rows, width, "layers")
        )
        projected = ops.linear("per_layer_model_projection", x, width, bias=False)
        projected = ops.scale("per_layer_projection_scale", projected).view(layers)
        normed = ops.norm("per_layer_projection_norm", projected, self.norm, bias=False)
        return ops.scale("per_layer_input_scale", ops.add("per_layer_sum", normed, rows.view(layers)))
