"""Cross-attention."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr

from ..language.shape_lines import Shape
from ..language.sizes import Divides
from ..language.symbols import A, D, E, G
from ..ledger.facts import Scale, Tensor, Weight
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component


@dataclass(frozen=True, kw_only=True)
class CrossAttention(Component):
    """Attention with queries from the decoder, and keys and values from the encoder, Vaswani et al. 2017 [vaswani2017],
    section 3.2.3.

    >>> CrossAttention().params
    4*E**2 + 4*E
    """

    title = "Cross-attention"
    role = "attention"
    further_inputs = {"memory": "is the output of the encoder"}
    purpose = "Cross-attention lets each token of the decoder read from the output of the encoder."
    relations = {G: A, D: E / A}
    constraints = (Divides(A, E), Divides(G, A))

    heads: Expr = A
    kv_heads: Expr = G
    head_width: Expr = D
    bias: bool = True
    output_bias: bool = True
    query: str = "q_proj"
    key: str = "k_proj"
    value: str = "v_proj"
    fused: str = ""  # the parameter with the rows of all three projections, NAME_weight, and NAME_bias, or ""
    output: str = "o_proj"
    scale: Scale = "scores"  # the tensor that is divided by the square root of D
    capped: bool = False  # whether a tanh soft cap bounds the scores
    softmax: str = ""  # "float32" if the softmax is always computed in single precision
    memory_width: Expr = E  # the hidden size of the encoder
    key_bias: bool = True  # whether the key projection has a bias, if the others have one
    weight_dropout: str = ""  # the name of the dropout on the attention weights, or ""
    output_dropout: str = ""

    @property
    def shapes(self) -> str:  # type: ignore[override]  # the encoder may have another hidden size
        return f"x[B,S,E], memory[B,S_enc,{self.memory_width}] -> y[B,S,E]"

    def split(self, cut: Cut) -> CrossAttention:
        return replace(self, heads=cut.share(self.heads), kv_heads=cut.share(self.kv_heads))

    def forward(self, ops: Operations, x: Tensor, memory: Tensor) -> Tensor:
        queries, keys = self.heads * self.head_width, self.kv_heads * self.head_width
        slices: dict[Expr, dict[str, Weight]] = {queries: {}, keys: {}}
        if self.fused:
            stored: dict[str, Shape] = {f"{self.fused}_weight": (queries + 2 * keys, x.width)}
            if self.bias:
                stored[f"{self.fused}_bias"] = (queries + 2 * keys,)
            joint = ops.parameter("", **stored)
            for rows in slices:
                slices[rows] = {
                    name.rpartition("_")[2]: Weight(w.path, (rows, *w.shape[1:])) for name, w in joint.items()
                }
        own = not self.fused
        names = (self.query, self.key, self.value) if own else ("queries", "keys", "values")
        q = ops.linear(names[0], x, queries, bias=self.bias, shared=slices[queries], module=own)
        k = ops.linear(names[1], memory, keys, bias=self.bias and self.key_bias, shared=slices[keys], module=own)
        v = ops.linear(names[2], memory, keys, bias=self.bias, shared=slices[keys], module=own)
        q = ops.heads(q, self.heads, self.head_width)
        k, v = (ops.heads(each, self.kv_heads, self.head_width) for each in (k, v))
        scores = ops.scores("scores", q, k, "none", scale=self.scale, capped=self.capped)
        weights = ops.softmax("softmax", scores, self.softmax)
        if self.weight_dropout:
            weights = ops.dropout(self.weight_dropout, weights)
        y = ops.linear(
            self.output, ops.merge(ops.weighted_values("mix", weights, v, "none")), x.width, bias=self.output_bias
        )
        return ops.dropout(self.output_dropout, y) if self.output_dropout else y
