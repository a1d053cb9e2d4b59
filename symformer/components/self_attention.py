"""Self-attention: multi-head, grouped-query and multi-query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sympy import Expr

from ..language.notation.text import text
from ..language.sizes import Divides
from ..language.symbols import A, D, E, G
from ..ledger.facts import ONE, REUSED_KEYS, REUSED_VALUES, Mask, Scale, Tensor
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component, context_signature, inputs_for
from .distance_embedding import DistanceEmbedding
from .layer_adapter import LayerAdapter
from .rotary_positions import RotaryPositions


@dataclass(frozen=True, kw_only=True)
class SelfAttention(Component):
    """Scaled dot-product attention over A query heads and G key/value heads of width D.

    Multi-head: G = A (h, d_k = d_v and d_model of Vaswani et al. 2017 are A, D and E). Multi-query: G = 1.
    Grouped-query: G divides A. Used alone, it is multi-head with E = A·D; inside a model, the model decides.

    >>> SelfAttention().params
    4*E**2 + 4*E
    >>> SelfAttention().params.partial(G="1", D="D")
    2*E*A*D + 2*E*D + A*D + E + 2*D
    """

    title = "Self-attention"
    role = "attention"
    purpose = "Attention lets each token read from other tokens."
    relations = {G: A, D: E / A}
    constraints = (Divides(A, E), Divides(G, A))

    heads: Expr = A
    kv_heads: Expr = G
    head_width: Expr = D
    value_width: Expr | None = None  # the width of the values of a head, if queries and keys have another
    bias: bool = True  # of the query, key and value projections
    output_bias: bool = True
    causal: bool = True
    window: Expr | None = None  # the sliding window: the number of tokens that a query sees, including its own
    chunked: bool = False  # whether the window is a chunk: no query sees a key of an earlier chunk
    blocks: bool = False  # whether each token of an image also attends to the later tokens of that image
    prompt: bool = False  # whether each token of a prompt, with its images, also attends to the later ones
    whole: bool = False  # whether the cache contains every token even with a window
    reused: bool = False  # whether the keys and values are those of an earlier layer with its own
    spread: bool = False  # whether keys and values are copied to every head of their group before they are cached
    positions: RotaryPositions | None = None  # applied to each head of queries and keys
    distances: Component | None = None  # adds a bias that depends on the distance to the scores
    own_table: str = ""  # the name of the layer's own table of distances, or "" if the layers share one
    scale: Scale = "scores"  # the tensor that is divided by the square root of D
    capped: bool = False  # whether a tanh soft cap bounds the scores
    key_bias: bool = True  # whether the key projection has a bias, if the others have one
    joint_norm: Component | None = None  # of queries and keys, over all heads together
    head_norm: Component | None = None  # of queries and keys, over each head separately, before the rotation
    rotated_norm: Component | None = None  # the same, after the rotation
    value_norm: Component | None = None  # of values, over each head separately
    output_norm: Component | None = None  # of the merged heads, before the output projection
    temperature: str = ""  # the name of the factor of each query, which depends on its position, or ""
    key_factor: str = ""  # the name of the constant factor of the keys, or ""
    value_factor: str = ""  # the name of the constant factor of the values, or ""
    query: str = "q_proj"
    key: str = "k_proj"
    value: str = "v_proj"  # "" if the values are the keys before their norm and their rotation
    fused: str = ""  # the single matrix of queries, keys and values, if there is one
    fused_module: bool = True  # whether it is a module; otherwise NAME_weight and NAME_bias are parameters
    output: str = "o_proj"  # "" if the merged heads are the output
    gate: str = ""  # the name of the sigmoid gate of the output, computed by the query projection, or ""
    query_norm: str = "q_norm"
    key_norm: str = "k_norm"
    value_norm_name: str = "v_norm"
    merged_norm: str = "attn_sub_norm"
    sinks: str = ""  # the name of the learned sink logits of the heads, Xiao et al. 2023, section 3.3, or ""
    weight_dropout: str = ""  # the name of the dropout on the attention weights, or ""
    output_dropout: str = ""
    softmax: str = ""  # "float32" if the softmax is always computed in single precision
    inner: Expr = E  # the width of the input, if it is not the width of the output
    adapters: str = ""  # the names of the adapters of queries, keys and values, with {} for the letter, or ""

    @property
    def shapes(self) -> str:  # type: ignore[override]  # rotary angles and a bias are additional inputs
        angles = f", {self.positions.angles}" if self.positions else ""
        bias = "" if self.own_table else context_signature(self.distances)
        width = "E" if self.output else text(self.heads * (self.value_width or self.head_width))
        return f"x[B,S,{self.inner}]{angles}{bias} -> y[B,S,{width}]"

    @property
    def about(self) -> str:
        """Return the description, which depends on the number of key/value heads."""
        if self.kv_heads == 1:
            kind = (
                "Multi-query attention, Shazeer 2019 [shazeer2019], section 3: A query heads of width D share one key"
            )
            said = f"{kind} and one value head."
        elif self.kv_heads == self.heads:
            kind = "Multi-head attention, Vaswani et al. 2017 [vaswani2017], section 3.2.2"
            said = f"{kind}: A heads of width D."
        else:
            kind = "Grouped-query attention, Ainslie et al. 2023 [ainslie2023], section 2.2"
            said = f"{kind}: A query heads of width D share G key/value heads."
        if self.heads == 1:
            said = "Attention with one head of width D, Vaswani et al. 2017 [vaswani2017], section 3.2.1."
        if self.value_width is not None:
            said += f" Values have their own width {text(self.value_width)}."
        if self.chunked:
            said += " The sequence is split into chunks; a query sees only the keys of its chunk."
        elif self.window is not None:
            keys = f"last {text(self.window)} tokens, including its own"
            if not self.causal:
                keys = f"tokens at most {text(self.window)} positions away"
            said += f" Each token attends only to the {keys}, Beltagy et al. 2020 [beltagy2020], section 3.1."
        if self.blocks:
            said += " Each token of an image also attends to the later tokens of that image."
        if self.prompt:
            said += " Each token of a prompt, with its images, also attends to the later ones of the prompt."
        if self.joint_norm or self.head_norm or self.rotated_norm:
            what = "Queries are" if self.reused else "Queries and keys are"
            said += f" {what} normalized, Henry et al. 2020 [henry2020], section 3"
            said += ", all heads together" if self.joint_norm else ", each head separately"
            said += ", after the rotation." if self.rotated_norm else "."
        if self.value_norm and not self.reused:
            said += " So are the values, without a scale."
        if self.reused:
            said += " The keys and values are those of the last layer with keys and values of its own whose attention "
            said += "has the same window, Brandon et al. 2024 [brandon2024]."
        if not self.value:
            said += " There is no value projection: the values are the projected keys, before their norm and rotation."
        if self.output_norm:
            said += " The output of all heads together is normalized, Wang et al. 2022 [wang2022], section 2.1."
        if self.temperature:
            said += (
                " Each query is multiplied by a factor that grows with the logarithm of its position, Nakanishi 2025"
            )
            said += " [nakanishi2025]."
        if self.gate:
            said += " Before the output projection, a sigmoid gate multiplies each element, Qiu et al. 2025"
            said += " [qiu2025], section 2; the query projection also computes the gates."
        if self.sinks:
            said += " Each head has a learned sink logit that takes part in the softmax"
            said += ", Xiao et al. 2023 [xiao2023], section 3.3."
        turned = replace(self.positions, keys=not self.reused) if self.positions else None
        return " ".join([said, *(part.about for part in (turned, self.distances) if part)])

    def split(self, cut: Cut) -> SelfAttention:
        return replace(self, heads=cut.share(self.heads), kv_heads=cut.share(self.kv_heads))

    def forward(self, ops: Operations, x: Tensor, *angles: Tensor) -> Tensor:
        q, k, v, gates = self.reusing(ops, x, *angles) if self.reused else self.projected(ops, x, *angles)
        if self.temperature:
            q = ops.multiply(f"{self.temperature}_product", q, ops.temperatures(self.temperature, q.shape[2]))
        mask: Mask = "causal" if self.causal else "none"
        seen: dict[str, Any] = {"window": self.window, "whole": self.whole, "chunked": self.chunked}
        seen |= {"blocks": self.blocks or self.prompt, "reused": self.reused}
        scores = ops.scores("scores", q, k, mask, scale=self.scale, capped=self.capped, **seen)
        if self.own_table:
            table = DistanceEmbedding(heads=self.heads)
            angles = (*angles, ops.call(self.own_table, table, ops.index("distances", *scores.shape[2:])))
        if self.distances is not None:
            scores = ops.call("distances", self.distances, *inputs_for(self.distances, scores, angles))
        sinks = ops.parameter("", **{self.sinks: (self.heads,)}) if self.sinks else {}
        weights = ops.softmax("softmax", scores, self.softmax, sinks)
        if self.weight_dropout:
            weights = ops.dropout(self.weight_dropout, weights)
        # Only a part of each head or of the tokens rotates.
        apart = self.positions is not None and (*angles[0].shape[1:],) != (x.shape[1], self.head_width)
        layout = "by head" if apart else ""
        mixed = ops.weighted_values("mix", weights, v, mask, function=layout, **seen)
        merged = ops.merge(mixed)
        if self.output_norm is not None:
            merged = ops.call(self.merged_norm, self.output_norm, merged)
        if gates is not None:
            opened = ops.activation(self.gate, gates, "sigmoid", module=False)
            merged = ops.multiply(f"{self.gate}_product", merged, opened)
        if not self.output:
            return merged
        width = x.width if self.inner == E else E
        y = ops.linear(self.output, merged, width, bias=self.output_bias)
        return ops.dropout(self.output_dropout, y) if self.output_dropout else y

    def projected(self, ops: Operations, x: Tensor, *angles: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Return the queries, keys and values of each head, with their norms and positions, and the gates."""
        value_width = self.head_width if self.value_width is None else self.value_width
        queries, keys, values = (
            self.heads * self.head_width,
            self.kv_heads * self.head_width,
            self.kv_heads * value_width,
        )
        if self.fused:
            joint = ops.linear(self.fused, x, queries + keys + values, bias=self.bias, module=self.fused_module)
            q, k, v = ops.split(joint, (queries, keys, values))
        else:
            wide = ops.linear(self.query, x, queries * (2 if self.gate else 1), bias=self.bias)
            q = self.adapted(ops, "q", x, wide)
            k = self.adapted(ops, "k", x, ops.linear(self.key, x, keys, bias=self.bias and self.key_bias))
            v = self.adapted(ops, "v", x, ops.linear(self.value, x, values, bias=self.bias)) if self.value else k
        gates: Tensor | None = None
        if self.gate:
            q, gates = ops.split(q, (queries, queries))
        if self.joint_norm is not None:
            q, k = ops.call(self.query_norm, self.joint_norm, q), ops.call(self.key_norm, self.joint_norm, k)
        k = ops.scale(self.key_factor, k) if self.key_factor else k
        v = ops.scale(self.value_factor, v) if self.value_factor else v
        q = ops.heads(q, self.heads, self.head_width)
        k = ops.heads(k, self.kv_heads, self.head_width)
        v = ops.heads(v, self.kv_heads, value_width)
        if self.spread:
            k, v = ops.repeat_heads(k, self.heads), ops.repeat_heads(v, self.heads)
        if self.head_norm is not None:
            q, k = ops.call(self.query_norm, self.head_norm, q), ops.call(self.key_norm, self.head_norm, k)
        if self.value_norm is not None:
            v = ops.call(self.value_norm_name, self.value_norm, v)
        if self.positions is not None:
            q, k = ops.call("rotary", self.positions, q, k, *angles)
        if self.rotated_norm is not None:
            q, k = ops.call(self.query_norm, self.rotated_norm, q), ops.call(self.key_norm, self.rotated_norm, k)
        return q, k, v, gates

    def reusing(self, ops: Operations, x: Tensor, *angles: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Return the queries of each head, with norm and positions, and the keys and values of an earlier layer."""
        q = ops.heads(
            ops.linear(self.query, x, self.heads * self.head_width, bias=self.bias), self.heads, self.head_width
        )
        if self.head_norm is not None:
            q = ops.call(self.query_norm, self.head_norm, q)
        if self.positions is not None:
            q = ops.call("rotary", replace(self.positions, keys=False), q, *angles)
        shape = (x.shape[0], self.kv_heads, q.shape[2], self.head_width)
        k, v = (replace(ops.index(name, *shape), grad=ONE) for name in (REUSED_KEYS, REUSED_VALUES))
        return q, k, v, None

    def adapted(self, ops: Operations, letter: str, x: Tensor, y: Tensor) -> Tensor:
        """Return queries, keys or values y of x, with the output of their adapter added if they have one."""
        return LayerAdapter.added(ops, self.adapters.format(letter), x, y)
