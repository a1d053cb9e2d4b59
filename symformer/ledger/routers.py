"""The code of routers in transformers, which decides the tensors that autograd saves for the choice of experts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Router:
    """The code of a router.

    It computes scores of experts, chooses the K highest ones, and returns the weights of the chosen experts.
    """

    chosen_first: bool = False  # whether the scores are computed for the chosen experts only
    single_scores: bool = True  # whether the scores are in float32 for every dtype of the model
    single_input: bool = False  # whether the logits are, too, which copies the router's input and its matrix
    divided: bool = False  # whether the weights are divided by their sum
    cast: bool = False  # whether float32 weights are cast back to the dtype of the model
    masked: bool = False  # whether the scores of all other groups of experts are replaced by 0


# By name. The first class of transformers with this code is stated.
ROUTERS: dict[str, Router] = {
    "softmax": Router(divided=True),  # Mixtral
    "softmax, cast": Router(cast=True),  # Qwen2-MoE with norm_topk_prob: false
    "softmax, divided, cast": Router(divided=True, cast=True),  # Qwen2-MoE with norm_topk_prob: true
    "softmax of chosen": Router(chosen_first=True, single_scores=False),  # gpt-oss
    "softmax of chosen, cast": Router(chosen_first=True, cast=True),  # Granite MoE
    "sigmoid": Router(divided=True),  # MiniMax-M2
    "sigmoid of logits": Router(single_scores=False, divided=True),  # LFM2-MoE
    "sigmoid of float32 logits": Router(single_input=True, divided=True),  # DeepSeek-V3 with norm_topk_prob: true
    "undivided sigmoid of float32 logits": Router(single_input=True),  # DeepSeek-V3 with norm_topk_prob: false
    "softmax of float32 logits": Router(single_input=True),  # DeepSeek-V2 with topk_method: greedy
    "softmax of float32 logits in groups": Router(single_input=True, masked=True),  # group_limited_greedy
}
