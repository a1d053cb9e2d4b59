"""Text encoder."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.sizes import Divides
from ..language.symbols import A, E, H, L
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Component
from .layer_norm import LayerNorm
from .mlp import MLP
from .position_embedding import PositionEmbedding
from .pre_norm_block import PreNormBlock
from .self_attention import SelfAttention
from .token_embedding import TokenEmbedding


@dataclass(frozen=True, kw_only=True)
class TextEncoder(Component):
    """A causal transformer. The output is the normalized end-of-text token, Radford et al. 2021 [radford2021],
    section 2.4.

    >>> TextEncoder().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + P*E + 2*E
    """

    title = "Text encoder"
    role = "tower"
    tower = "language"
    shapes = "tokens[B,S] -> x[B,E]"
    constraints = (Divides(A, E),)

    depth: Expr = L
    activation: Activation = "quick_gelu"
    dropout: bool = False  # of attention weights
    causal: bool = True  # without a causal mask, the output is a projection of the last token

    @property
    def about(self) -> str:
        """Return the description: whether the transformer is causal, and which token is its output."""
        if self.causal:
            return super().about
        return (
            "A bidirectional transformer. The output is a projection of the normalized last token, Zhai et al. 2023 "
            "[zhai2023]."
        )

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = ops.call("embeddings.token_embedding", TokenEmbedding(), tokens)
        places = ops.index("positions", 1, x.shape[1])
        x = ops.add("embeddings.positions", x, ops.call("embeddings.position_embedding", PositionEmbedding(), places))
        layer = encoder_layer(A, E, H, self.activation, self.dropout, causal=self.causal)
        x = ops.repeat("encoder.layers", self.depth, layer, x)
        x = ops.select("end", ops.call("final_layer_norm", LayerNorm(), x), each=self.causal)
        return x if self.causal else ops.linear("head", x, E)


def encoder_layer(
    heads: Expr, width: Expr, hidden: Expr, activation: Activation, dropout: bool, *, causal: bool
) -> Component:
    """Return a layer of the text or the image encoder, with CLIP's module names."""
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
