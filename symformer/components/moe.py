"""Mixture of experts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sympy import Expr, Integer

from ..language.sizes import AtMost
from ..language.symbols import K, M, X, X_shared
from ..ledger.facts import ONE, SHARED_SUM, Activation, Tensor
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from ..ledger.routers import ROUTERS
from .base import Component

# How a class chooses K experts and computes their weights from the router's logits.
SOFTMAX = (
    "The scores of the experts are a softmax of the router's logits. The K experts with the highest scores are chosen, "
    "and their weights are these scores, divided by their sum."
)
SOFTMAX_UNDIVIDED = SOFTMAX.replace(", divided by their sum", "")
SOFTMAX_MAYBE_DIVIDED = SOFTMAX.replace("by their sum", "by their sum if ``norm_topk_prob`` is true")
SIGMOID_OF_CHOSEN = (
    "The K experts with the highest router logits are chosen, and their weights are the sigmoids of these logits."
)
SIGMOID_IN_GROUPS = (
    "The score of an expert is a sigmoid of its router logit. The choice uses biased scores: each expert's bias, "
    "``e_score_correction_bias``, is added to its score. The experts form ``n_group`` groups. The router keeps "
    "the ``topk_group`` groups with the largest sum of their two highest biased scores, and chooses the K experts "
    "in these groups with the highest biased scores, DeepSeek-AI 2024 [deepseek2024b], section 2.1.2. The weights "
    "are the scores without the bias, divided by their sum and multiplied by ``routed_scaling_factor``."
)
SIGMOID_IN_GROUPS_MAYBE_DIVIDED = SIGMOID_IN_GROUPS.replace(
    "divided by their sum and", "divided by their sum if ``norm_topk_prob`` is true, and"
)
SIGMOID_WITH_BIAS = (
    "The score of an expert is a sigmoid of its router logit. Each expert's bias, ``e_score_correction_bias``, is "
    "added to its score, and the K experts with the highest sums are chosen. The weights are the scores without the "
    "bias, divided by their sum."
)
SIGMOID_WITH_EXPERT_BIAS = (
    SIGMOID_WITH_BIAS.replace("e_score_correction_bias", "expert_bias").removesuffix(".")
    + " and multiplied by ``routed_scaling_factor``."
)
SOFTMAX_WITH_BIAS = (
    "The scores of the experts are a softmax of the router's logits. The K experts with the highest sums of their "
    "score and a bias, ``e_score_correction_bias``, are chosen. The biases are stored with the weights and are not "
    "trained. The weights of the experts are their scores without the bias, divided by their sum."
)
BIAS_OR_TABLE = (
    "The score of an expert is the square root of the softplus of its router logit, or another function if "
    "``scoring_func`` states it. In most layers, each expert's bias, ``e_score_correction_bias``, is added to its "
    "score, and the K experts with the highest sums are chosen. In the first layers, of the kind ``hash_moe``, a "
    "fixed table has the K experts of each token of the vocabulary, Roller et al. 2021 [roller2021]. The "
    "biases and the table are not trained, and not counted as parameters. The weights are the scores without the bias, "
    "divided by their sum and multiplied by ``routed_scaling_factor``. In every expert, the gate is at most "
    "``swiglu_limit``, and the up projection is between this limit and its negative."
)
SOFTMAX_IN_GROUPS = (
    "The scores of the experts are a softmax of the router's logits. With ``topk_method`` = ``greedy`` the K "
    "experts with the highest scores of all are chosen; with ``group_limited_greedy`` only the ``topk_group`` "
    "groups (of ``n_group``) whose best expert scores highest are considered, DeepSeek-AI 2024 [deepseek2024], "
    "section 2.2.2. The weights are the scores times ``routed_scaling_factor``."
)
SPARSE_MIXER = (
    "The first expert is the one with the highest router logit. Its weight is its share in a softmax of the logits "
    "near the highest one; ``router_jitter_noise`` determines how near. The second expert is chosen and weighted in "
    "the same way among the others, Liu et al. 2024 [liu2024]."
)
SOFTMAX_OF_CHOSEN = (
    "The K experts with the highest router logits are chosen, and their weights are a softmax of these K logits."
)


@dataclass(frozen=True, kw_only=True)
class MoE(Component):
    """A router that sends each token to K of X gated networks of width M, Jiang et al. 2024 [jiang2024], section 2.1.

    Shazeer et al. 2017, arXiv:1701.06538, section 2, write n and k for X and K. The matrices of all experts are stored
    together, with the gate and up projections in one tensor [X,2M,E].

    >>> MoE().params
    3*E*X*M + E*X
    >>> MoE().formula("active-params")
    3*E*K*M + E*X
    """

    title = "Mixture of experts"
    role = "MLP"
    purpose = (
        "Experts add parameters without adding as much computation, since each token passes through only a few of them."
    )
    shapes = "x[B,S,E] -> y[B,S,E]"
    constraints = (AtMost(K, X),)

    experts: Expr = X  # that the router chooses from
    local: Expr = X  # on this rank
    per_token: Expr = K  # that the router chooses
    activation: Activation = "silu"
    hidden: Expr = M
    router: str = "gate"
    routing: str = SOFTMAX  # how the experts are chosen and weighted, in sentences
    router_code: str = ""  # the name of the router's code in ROUTERS, for the tensors that it saves, or ""
    lifted: bool = False  # whether 1 is added to the up projection before the gate multiplies it
    bias: bool = False  # of the router and of every expert
    choice_bias: str = ""  # the name of a stored bias [1,X] for the choice, which is not trained, or ""
    input_norm: Component | None = None  # of the experts' input; the router reads the input itself
    input_norm_name: str = "input_norm"
    router_norm: Component | None = None  # of the router's input
    router_norm_name: str = "norm"
    router_scale: str = ""  # the name of a learned scale [E] of the router's input, also divided by sqrt(E), or ""
    expert_scale: str = ""  # the name of a learned scale [X] of the experts' weights, or ""
    weighted_inputs: bool = False  # whether the weight of an expert multiplies its input instead of its output
    shared: Component | None = None  # the shared expert, a network that all tokens pass through
    beside: str = "shared_experts"
    norm: Component | None = None  # of the output, with the shared expert's
    norm_name: str = "post_mlp_layernorm"
    shared_gate: str = ""  # the name of the one-row matrix whose sigmoid weights the shared expert's output, or ""

    @property
    def about(self) -> str:
        """Return the description: the experts, their choice and weights, and the shared expert."""
        said = f"{super().about} {self.routing}"
        if self.weighted_inputs:
            said += " Each expert's weight multiplies its input."
        if self.bias:
            said += " The router and the experts have biases."
        if self.shared is not None:
            several = X_shared in getattr(self.shared, "hidden", ONE).free_symbols
            said += " The output of "
            said += "the X_shared shared experts, stored as one" if several else "a shared expert, a"
            said += " network that all tokens pass through, Dai et al. 2024 [dai2024], section 3.2, is added"
            said += ", weighted by a gate of one number per token." if self.shared_gate else "."
        return f"{said} The sum is normalized." if self.norm is not None else said

    def split(self, cut: Cut) -> MoE:
        return replace(self, local=cut.experts_of(self.local), hidden=cut.share(self.hidden))

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        if self.choice_bias:
            ops.learned(self.choice_bias, ONE, self.experts, fixed=True)
        chosen = ops.route("top_k", self.logits(ops, x), self.per_token, self.router_code)
        if self.expert_scale:
            chosen = ops.multiply(
                "expert_weights", chosen, ops.learned(self.expert_scale, self.experts).view(chosen.shape)
            )
        read = ops.call(self.input_norm_name, self.input_norm, x) if self.input_norm else x
        if self.weighted_inputs:
            batch, length, width = x.shape
            every = x.view((batch, length, ONE, width))
            read = ops.multiply("weighted_input", every, chosen.view((*chosen.shape, ONE)))
        both = ops.experts("experts.gate_up_proj", read, chosen, self.local, 2 * self.hidden, bias=self.bias)
        gate, up = ops.split(both, (self.hidden, self.hidden))
        opened = ops.activation("experts.act_fn", gate, self.activation)
        hidden = ops.multiply("experts.product", opened, up, "lifted" if self.lifted else "")
        each = ops.experts("experts.down_proj", hidden, chosen, self.local, x.width, bias=self.bias)
        y = ops.combine("combine", each, None if self.weighted_inputs else chosen)
        if self.shared is not None:
            y = self._with_shared(ops, x, y)
        return y if self.norm is None else ops.call(self.norm_name, self.norm, y)

    def _with_shared(self, ops: Operations, x: Tensor, y: Tensor) -> Tensor:
        """Return the output of the experts with the shared expert's added."""
        if self.shared is None:
            return y
        z = ops.call(self.beside, self.shared, x)
        if self.shared_gate:
            logit = ops.linear(self.shared_gate, x, Integer(1), bias=False)
            weight = ops.activation("sigmoid", logit, "sigmoid", module=False)
            z = ops.multiply("weighed", weight, z)
        return ops.add(SHARED_SUM, y, z)

    def logits(self, ops: Operations, x: Tensor) -> Tensor:
        """Return the router's logits of x."""
        y = ops.call(self.router_norm_name, self.router_norm, x) if self.router_norm else x
        if self.router_scale:
            y = ops.multiply("router_input", y, ops.learned(self.router_scale, x.width).view((ONE, ONE, x.width)))
            y = ops.scale("router_factor", y, "over root")
        code = ROUTERS.get(self.router_code)
        precision: Literal["", "float32"] = "float32" if code and code.single_input else ""
        return ops.linear(self.router, y, self.experts, bias=self.bias, function=precision)
