"""The time mixing of RWKV-7."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.sizes import Divides
from ..language.symbols import D_lin, E, R_a, R_g, R_v, R_w
from ..ledger.facts import FIRST_VALUES, ONE, Tensor
from ..ledger.operations import Operations
from .base import Component
from .group_norm import GroupNorm

MIXED = ("r", "w", "k", "v", "a", "g")  # receptances, decays, keys, values, learning rates, gates


@dataclass(frozen=True, kw_only=True)
class TimeMixing(Component):
    """Linear attention with a state of D_lin by D_lin numbers for each of E/D_lin heads, which a generalized delta rule
    updates, Peng et al. 2025 [peng2025], section 4: each column of the state has a decay and a learning rate of its
    own for each token, and the key whose value is removed from the state differs from the key of the new value.

    Receptances, decays, keys, values, learning rates and gates are projections of the token, each interpolated between
    its position and the preceding one. The decays, the learning rates, the gates, and the shares with which the values
    of the first layer replace the values of the others, are projections of rank R_w, R_a, R_g and R_v. The output is
    normalized per head; a share of each value, which depends on the token's own receptance and key, is added; and the
    result is gated. The paper's d_w, d_a, d_v and d_g are the ranks.

    The rule is computed token by token, with two products of the state and a vector for each token. A kernel that
    computes it in chunks has more. The cache contains the states and the input at the last token, for any number of
    tokens.

    >>> TimeMixing().params
    4*E**2 + 2*E*R_w + 2*E*R_a + 2*E*R_v + 2*E*R_g + 14*E
    >>> TimeMixing().formula("kv-cache")
    4*B*E*D_lin + 2*B*E
    """

    title = "Time mixing"
    role = "linear attention"
    purpose = "A state of fixed size carries the past, so the cost of generating a token does not grow with the length."
    constraints = (Divides(D_lin, E),)

    first: bool = False  # whether it is in the first layer, whose values the other layers also read

    @property
    def shapes(self) -> str:  # type: ignore[override]  # the values of the first layer are an additional input
        return f"x[B,S,E]{'' if self.first else f', {FIRST_VALUES}[B,S,E]'} -> y[B,S,E]"

    def forward(self, ops: Operations, x: Tensor, first_values: Tensor | None = None) -> Tensor:
        width = x.width

        def learned(name: str) -> Tensor:
            return ops.read(stored[name], ONE, ONE, width)

        def low_rank(name: str, rank: Expr, function: str = "", bias: bool = True) -> Tensor:
            low = ops.linear(f"{name}_down", mixed[name], rank, bias=False)
            low = ops.activation(f"{name}_act", low, function, module=False) if function else low
            return ops.linear(f"{name}_up", low, width, bias=bias)

        def heads(y: Tensor) -> Tensor:
            return ops.heads(y, width / D_lin, D_lin)

        names = (*(f"x_{each}" for each in MIXED), "k_k", "k_a", "r_k")
        stored = ops.parameter("", **dict.fromkeys(names, (width,)))
        previous = ops.shift("token_shift", x)
        mixed = {each: ops.interpolate(f"mixed_{each}", x, previous, learned(f"x_{each}")) for each in MIXED}
        r, k, v = (ops.linear(f"{each}_proj", mixed[each], width, bias=False) for each in ("r", "k", "v"))
        # The decay is exp(-exp(-1/2) · sigmoid(…)), so it is at least 0.54.
        decay = ops.scale(
            "decay_factor", ops.activation("w_sigmoid", low_rank("w", R_w, "tanh"), "sigmoid", module=False)
        )
        decay = ops.activation("decay", decay, "exp", module=False)
        rate = ops.activation("rate", low_rank("a", R_a), "sigmoid", module=False)
        if first_values is not None:
            share = ops.activation("value_share", low_rank("v", R_v), "sigmoid", module=False)
            v = ops.interpolate("values", v, first_values, share)
        gate = low_rank("g", R_g, "sigmoid", bias=False)
        removal = heads(ops.multiply("removal", k, learned("k_k")))
        removal = ops.norm("removal_norm", removal, "l2", scale=False, bias=False, module=False)
        k = ops.interpolate("keys", k, ops.multiply("slow_keys", k, rate), learned("k_a"))
        r, k, v, decay, rate = (heads(each) for each in (r, k, v, decay, rate))
        y = ops.merge(ops.general_delta_rule("wkv", r, k, v, decay, removal, rate))
        y = ops.call("g_norm", GroupNorm(), y)
        own = ops.multiply("weighted_receptances", ops.merge(r), learned("r_k"))
        own = ops.sum_rows("own_share", ops.multiply("matches", heads(own), k))
        y = ops.add("with_own_value", y, ops.merge(ops.multiply("own_value", own, v)))
        return ops.linear("o_proj", ops.multiply("gated", y, gate), width, bias=False)
