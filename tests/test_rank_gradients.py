"""Required sums over tensor-parallel ranks, found by autograd with tiny layers on simulated ranks.

Every rank runs the same code on its slices, with its own loss. Outputs that are partial are summed over the ranks. If a
sharded operation reads a tensor that all ranks hold, its gradient is partial and is summed in the backward pass.
Without any one of these sums, some gradient differs from the whole model's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from sympy import Integer
from torch import Tensor

from symformer.components.base import Component
from symformer.components.latent_attention import LatentAttention
from symformer.components.mlp import MLP
from symformer.components.moe import MoE
from symformer.components.self_attention import SelfAttention

RANKS = 2
Weights = dict[str, Tensor]


class Forward(torch.autograd.Function):
    """Sum the partial tensors of all ranks; the gradient of each rank is its own."""

    @staticmethod
    def forward(ctx: Any, *parts: Tensor) -> tuple[Tensor, ...]:
        return tuple(sum(parts[1:], start=parts[0]).clone() for _ in parts)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return grads


class Backward(torch.autograd.Function):
    """Return the same tensor on every rank; the gradient is the sum over the ranks."""

    @staticmethod
    def forward(ctx: Any, *copies: Tensor) -> tuple[Tensor, ...]:
        return tuple(copy.clone() for copy in copies)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return tuple(sum(grads[1:], start=grads[0]).clone() for _ in grads)


class Ranks:
    """The sums between ranks: the number of elements of each by name, and which one is omitted."""

    def __init__(self, left_out: str = "") -> None:
        self.left_out = left_out
        self.elements: dict[str, int] = {}

    def sum(self, name: str, function: Any, tensors: list[Tensor]) -> list[Tensor]:
        self.elements[name] = tensors[0].numel()
        return tensors if name == self.left_out else list(function.apply(*tensors))


def heads(x: Tensor, width: int) -> Tensor:
    return x.unflatten(-1, (-1, width)).transpose(1, 2)


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (torch.softmax(q @ k.transpose(-1, -2), -1) @ v).transpose(1, 2).flatten(2)


def multi_query(ranks: list[Weights], x: Tensor, between: Ranks) -> list[Tensor]:
    """Queries per head, one key and one value for all heads."""
    keys = between.sum("keys", Backward, [x @ w["k"] for w in ranks])
    values = between.sum("values", Backward, [x @ w["v"] for w in ranks])
    parts = [
        attend(heads(x @ w["q"], 3), k.unsqueeze(1), v.unsqueeze(1)) @ w["o"]
        for w, k, v in zip(ranks, keys, values, strict=True)
    ]
    return between.sum("output", Forward, parts)


def latent(ranks: list[Weights], x: Tensor, between: Ranks) -> list[Tensor]:
    """Queries, keys and values per head from latents of widths 5 and 6, and one shared rotary key of width 10."""
    queries = between.sum("queries' latent", Backward, [x @ w["q_a"] for w in ranks])
    joint = [(x @ w["kv_a"]).split((6, 10), -1) for w in ranks]
    latents = between.sum("latent", Backward, [pair[0] for pair in joint])
    rotary = between.sum("rotary key", Backward, [pair[1] for pair in joint])
    parts = []
    for w, q, kv, key in zip(ranks, queries, latents, rotary, strict=True):
        nope, v = heads(kv @ w["kv_b"], 8 + 9).split((8, 9), -1)
        k = torch.cat((nope, key.unsqueeze(1).expand(-1, nope.shape[1], -1, -1)), -1)
        parts.append(attend(heads(q @ w["q_b"], 8 + 10), k, v) @ w["o"])
    return between.sum("output", Forward, parts)


def mixture(ranks: list[Weights], x: Tensor, between: Ranks) -> list[Tensor]:
    """3 of 7 experts per token, with sharded widths."""
    routes = [torch.topk(torch.softmax(x @ w["gate"], -1), 3) for w in ranks]
    shares = between.sum("routing weights", Backward, [route.values for route in routes])
    parts = []
    for w, share, route in zip(ranks, shares, routes, strict=True):
        hidden = torch.nn.functional.silu(torch.einsum("bse,bskeh->bskh", x, w["up"][route.indices]))
        each = torch.einsum("bskh,bskhe->bske", hidden, w["down"][route.indices])
        parts.append((each * share.unsqueeze(-1)).sum(2))
    return between.sum("output", Forward, parts)


# The layer, our part, its sizes, and for each weight its shape and its sharded axis, if any.
CASES: dict[str, tuple[Callable[..., list[Tensor]], Component, dict[str, int], dict[str, tuple[Any, ...]]]] = {
    "one key/value head": (
        multi_query,
        SelfAttention(kv_heads=Integer(1), bias=False, output_bias=False),
        {"B": 7, "S": 5, "E": 12, "A": 4},
        {"q": ((12, 12), 1), "k": ((12, 3), None), "v": ((12, 3), None), "o": ((12, 12), 0)},
    ),
    "latent attention": (
        latent,
        LatentAttention(),
        {"B": 3, "S": 11, "E": 7, "A": 4, "R_q": 5, "R_kv": 6, "D_nope": 8, "D_rope": 10, "D_v": 9},
        {
            "q_a": ((7, 5), None),
            "q_b": ((5, 4 * 18), 1),
            "kv_a": ((7, 16), None),
            "kv_b": ((6, 4 * 17), 1),
            "o": ((4 * 9, 7), 0),
        },
    ),
    "experts": (
        mixture,
        MoE(),
        {"B": 4, "S": 5, "E": 6, "X": 7, "K": 3, "M": 8},
        {"gate": ((6, 7), None), "up": ((7, 6, 8), 2), "down": ((7, 8, 6), 1)},
    ),
}


def gradients(name: str, ranks: int, between: Ranks) -> dict[str, list[Tensor]]:
    """Return the gradient of each weight on each rank."""
    layer, _, sizes, shapes = CASES[name]
    torch.manual_seed(0)
    whole = {key: torch.randn(shape, dtype=torch.float64) for key, (shape, _) in shapes.items()}
    x = torch.randn(sizes["B"], sizes["S"], sizes["E"], dtype=torch.float64)
    slices = {
        key: [whole[key]] * ranks if axis is None else list(whole[key].chunk(ranks, axis))
        for key, (_, axis) in shapes.items()
    }
    held = [{key: slices[key][rank].clone().requires_grad_() for key in whole} for rank in range(ranks)]
    for y in layer(held, x, between):
        (y**2).sum().backward(retain_graph=True)
    found: dict[str, list[Tensor]] = {}
    for key in whole:
        found[key] = [weights[key].grad for weights in held if weights[key].grad is not None]
        assert len(found[key]) == ranks
    return found


def agree(name: str, between: Ranks) -> bool:
    """Return True if every rank's gradient of every weight equals the whole model's, or its slice of it."""
    whole, divided = gradients(name, 1, Ranks()), gradients(name, RANKS, between)
    pairs = [
        (mine, theirs)
        for key, (_, axis) in CASES[name][3].items()
        for mine, theirs in zip(
            divided[key], whole[key] * RANKS if axis is None else whole[key][0].chunk(RANKS, axis), strict=True
        )
    ]
    return all(torch.allclose(mine, theirs) for mine, theirs in pairs)


@pytest.mark.parametrize("name", CASES)
def test_each_sum_over_ranks_is_needed_and_sufficient(name: str) -> None:
    between = Ranks()
    assert agree(name, between)
    assert len(between.elements) > 1
    for one in between.elements:
        assert not agree(name, Ranks(left_out=one)), f"{one} need not be summed"
    _, part, sizes, _ = CASES[name]
    moved = part.formula("communication", tensor="on", count="payload", dtype="symbolic")
    assert moved.value(**sizes, W=1, N_tp=RANKS) == sum(between.elements.values())


# -- ranks with their own tokens ---------------------------------------------------------------------------------------


class Exchange(torch.autograd.Function):
    """Send tensors to other ranks unchanged, and their gradients back; each is counted once if requested."""

    @staticmethod
    def forward(ctx: Any, moved: list[int], x: Tensor) -> Tensor:
        ctx.moved = moved
        moved.append(x.numel())
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor]:
        ctx.moved.append(grads[0].numel())
        return None, grads[0]


class Gather(torch.autograd.Function):
    """Gather: every rank gets everything; the gradients are summed and scattered to the ranks' tokens."""

    @staticmethod
    def forward(ctx: Any, moved: list[int], *shares: Tensor) -> tuple[Tensor, ...]:
        ctx.moved = moved
        whole = torch.cat(shares, 1)
        moved.append(whole.numel())
        return tuple(whole.clone() for _ in shares)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        ctx.moved.append(grads[0].numel())
        return None, *sum(grads[1:], start=grads[0]).chunk(len(grads), 1)


class Scatter(torch.autograd.Function):
    """Reduce-scatter: partial tensors are summed, each rank keeps its tokens; every rank gets the whole gradient."""

    @staticmethod
    def forward(ctx: Any, moved: list[int], *parts: Tensor) -> tuple[Tensor, ...]:
        ctx.moved = moved
        moved.append(parts[0].numel())
        return tuple(share.clone() for share in sum(parts[1:], start=parts[0]).chunk(len(parts), 1))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        whole = torch.cat(grads, 1)
        ctx.moved.append(whole.numel())
        return None, *(whole for _ in grads)


def experts_apart(ranks: list[Weights], inputs: list[Tensor], moved: list[int]) -> list[Tensor]:
    """Each rank has its own batch and its share of the experts; all send as much as the first, which is counted."""
    outputs = []
    for rank, (w, x) in enumerate(zip(ranks, inputs, strict=True)):
        counted: list[int] = moved if rank == 0 else []
        route = torch.topk(torch.softmax(x @ w["gate"], -1), 3)
        up, down = (torch.cat([each[name] for each in ranks])[route.indices] for name in ("up", "down"))
        sent = Exchange.apply(counted, x.unsqueeze(2).expand(-1, -1, 3, -1))
        hidden = torch.nn.functional.silu(torch.einsum("bske,bskeh->bskh", sent, up))
        back = Exchange.apply(counted, torch.einsum("bskh,bskhe->bske", hidden, down))
        outputs.append((back * route.values.unsqueeze(-1)).sum(2))
    return outputs


def sequence_apart(ranks: list[Weights], inputs: list[Tensor], moved: list[int]) -> list[Tensor]:
    """Each rank has a piece of every sequence; keys and values circulate. 3 of them for 6 heads, of width 4."""
    keys = Gather.apply(moved, *(x @ w["k"] for w, x in zip(ranks, inputs, strict=True)))
    values = Gather.apply(moved, *(x @ w["v"] for w, x in zip(ranks, inputs, strict=True)))
    outputs, start = [], 0
    for w, x, k, v in zip(ranks, inputs, keys, values, strict=True):
        grouped = [heads(each, 4).repeat_interleave(2, 1) for each in (k, v)]
        later = torch.arange(k.shape[1])[None, :] > torch.arange(start, start + x.shape[1])[:, None]
        scores = (heads(x @ w["q"], 4) @ grouped[0].transpose(-1, -2)).masked_fill(later, float("-inf"))
        outputs.append((torch.softmax(scores, -1) @ grouped[1]).transpose(1, 2).flatten(2) @ w["o"])
        start += x.shape[1]
    return outputs


def between_apart(ranks: list[Weights], inputs: list[Tensor], moved: list[int]) -> list[Tensor]:
    """tensor=sequence: gathered before columns, scattered after rows, whose bias is added to a shard."""
    read = Gather.apply(moved, *inputs)
    parts = [torch.relu(x @ w["up"] + w["up_bias"]) @ w["down"] for w, x in zip(ranks, read, strict=True)]
    return [y + w["down_bias"] for w, y in zip(ranks, Scatter.apply(moved, *parts), strict=True)]


# The layer, our part, its placement and sizes, the axis along which ranks shard the tokens, the weights, and those
# whose gradient is a sum over ranks with other tokens.
APART: dict[str, tuple[Callable[..., list[Tensor]], Component, dict[str, str], dict[str, int], int, Any, set[str]]] = {
    "experts": (
        experts_apart,
        MoE(),
        {"expert": "on"},
        {"B": 5, "S": 7, "E": 6, "X": 8, "K": 3, "M": 11, "N_ep": RANKS},
        0,
        {"gate": ((6, 8), None), "up": ((8, 6, 11), 0), "down": ((8, 11, 6), 0)},
        {"gate"},
    ),
    "context": (
        sequence_apart,
        SelfAttention(bias=False, output_bias=False),
        {"context": "on"},
        {"B": 5, "S": 14, "E": 24, "A": 6, "G": 3, "D": 4, "N_cp": RANKS},
        1,
        {"q": ((24, 24), None), "k": ((24, 12), None), "v": ((24, 12), None), "o": ((24, 24), None)},
        {"q", "k", "v", "o"},
    ),
    "sequence": (
        between_apart,
        MLP(activation="relu"),
        {"tensor": "sequence"},
        {"B": 5, "S": 14, "E": 6, "H": 8, "N_tp": RANKS},
        1,
        {"up": ((6, 8), 1), "up_bias": ((8,), 0), "down": ((8, 6), 0), "down_bias": ((6,), None)},
        {"down_bias"},
    ),
}


FREE = {"context": {"G": "G", "D": "D"}}  # grouped queries with heads of a given width


@pytest.mark.parametrize("name", APART)
def test_gradients_are_summed_over_ranks_with_other_tokens(name: str) -> None:
    layer, part, placement, sizes, axis, shapes, summed = APART[name]
    torch.manual_seed(1)
    whole = {key: torch.randn(shape, dtype=torch.float64) for key, (shape, _) in shapes.items()}
    batch = sizes["B"] * (RANKS if axis == 0 else 1)
    x = torch.randn(batch, sizes["S"], sizes["E"], dtype=torch.float64)

    def gradients(ranks: int) -> tuple[dict[str, list[Tensor]], list[int]]:
        held = [
            {key: (value if cut is None else value.chunk(ranks, cut)[rank]).clone().requires_grad_()
             for (key, value), (_, cut) in zip(whole.items(), shapes.values(), strict=True)}
            for rank in range(ranks)
        ]  # fmt: skip
        moved: list[int] = []
        outputs = layer(held, list(x.chunk(ranks, axis)), moved)
        torch.autograd.backward([(y**2).sum() for y in outputs])
        return {key: [each[key].grad for each in held if each[key].grad is not None] for key in whole}, moved

    (theirs, _), (ours, moved) = gradients(1), gradients(RANKS)
    elements = sum(moved)
    for key, (_, cut) in shapes.items():
        assert len(ours[key]) == RANKS
        if cut is None:
            assert torch.allclose(ours[key][0] + ours[key][1], theirs[key][0]), f"{key} is not a sum over ranks"
            assert key in summed
            elements += whole[key].numel()
        else:
            assert torch.allclose(torch.cat(ours[key], cut), theirs[key][0]), f"{key} needs more than its slice"
            assert key not in summed
    facts = {"count": "payload", "dtype": "symbolic", "gather": "once"}
    assert (
        part.formula("communication", **placement, **facts).partial(**FREE.get(name, {})).value(**sizes, W=1)
        == elements
    )
