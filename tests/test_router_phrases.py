"""The phrases on the weights of experts in a comparison, against the routers of transformers."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from symformer import architectures
from symformer.algebra.structure_phrases import network
from symformer.components.moe import MoE
from symformer.ledger.facts import Scope

# The router of each architecture with its own way to compute the weights, or to state it.
ROUTERS = {
    "deepseek-v2": "DeepseekV2TopkRouter",
    "deepseek-v3": "DeepseekV3TopkRouter",
    "dots1": "Dots1TopkRouter",
    "ernie4-5-moe": "Ernie4_5_MoeTopKRouter",
    "gpt-oss": "GptOssTopKRouter",
    "jamba": "JambaTopKRouter",
    "kimi-linear": "KimiLinearTopkRouter",
    "lfm2-moe": "Lfm2MoeTopKRouter",
    "llama4": "Llama4Router",
    "minimax-m2": "MiniMaxM2TopKRouter",
    "mixtral": "MixtralTopKRouter",
    "qwen2-moe": "Qwen2MoeTopKRouter",
    "qwen3-5-moe": "Qwen3_5MoeTopKRouter",
}
EXPERTS, GROUPS, FACTOR = 6, 3, 2.5


def weights(name: str, logits: torch.Tensor, **changed: Any) -> torch.Tensor:
    """Return the weights of the experts, [tokens, experts], that a router computes from its logits."""
    sizes = dict.fromkeys(("num_experts", "num_local_experts", "hidden_size"), EXPERTS)
    config = SimpleNamespace(
        **sizes,
        num_experts_per_tok=3,
        n_group=GROUPS,
        topk_group=2,
        topk_method="group_limited_greedy",
        moe_norm_min=1e-12,
        use_expert_bias=True,
    )
    config.__dict__.update({"norm_topk_prob": True, "routed_scaling_factor": FACTOR, "router_jitter_noise": 0, **changed})
    module = import_module(f"transformers.models.{name.replace('-', '_')}.modeling_{name.replace('-', '_')}")
    router = getattr(module, ROUTERS[name])(config)
    with torch.no_grad():
        for each in router.parameters():
            each.zero_()
        router.weight.copy_(torch.eye(EXPERTS))  # the logits are the input
        bias = [torch.zeros(EXPERTS)] if name in ("lfm2-moe", "minimax-m2") else []
        found = router(logits, *bias)
    if name == "llama4":  # it returns the weights of all experts, and then the logits
        return found[0]
    return torch.zeros_like(logits).scatter(1, found[2], found[1])


def phrase(name: str) -> str:
    """Return the phrase on the weights of the experts of an architecture."""
    scopes = architectures.architecture(name).component.ledger.root.walk()
    moe = next(scope.part for scope in scopes if isinstance(scope, Scope) and isinstance(scope.part, MoE))
    return network(moe, False)["routing"][0]


@pytest.mark.parametrize("name", ROUTERS)
def test_the_phrase_states_whether_weights_are_divided_and_multiplied(name: str) -> None:
    logits = torch.randn(7, EXPERTS, generator=torch.Generator().manual_seed(5))
    said = phrase(name)

    def sums(**changed: Any) -> torch.Tensor:
        return weights(name, logits, **changed).sum(1)

    def constant(found: torch.Tensor) -> bool:  # as it is where the weights are divided by their sum
        return torch.allclose(found, found[:1].expand(7), rtol=1e-4)

    divided = "divided by their sum" in said or "softmax over the chosen experts" in said
    assert constant(sums()) == divided
    if "if norm_topk_prob is true" in said:
        assert not constant(sums(norm_topk_prob=False))
    multiplied = not torch.allclose(sums(), sums(routed_scaling_factor=1.0))
    assert multiplied == ("multiplied by a constant" in said)


@pytest.mark.parametrize("name", ["deepseek-v2", "deepseek-v3", "dots1", "kimi-linear"])
def test_the_phrase_states_how_groups_are_ranked(name: str) -> None:
    # The first group has the expert with the highest score; the second has the largest sum of two sigmoids: 1 < 1.46.
    logits = torch.tensor([[3.0, -3.0, 1.0, 1.0, -2.0, -2.0]])
    (chosen,) = weights(name, logits, topk_group=1, num_experts_per_tok=1).nonzero()[:, 1].tolist()
    by_highest = "ranked by their highest score" in phrase(name)
    assert by_highest != ("ranked by the sum of their two highest" in phrase(name))
    assert (chosen == 0) == by_highest
