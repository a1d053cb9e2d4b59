"""Convolutions: weights, FLOPs and tensors saved by autograd, compared with torch's modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from sympy import Expr
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from symformer.components.base import Component
from symformer.language.errors import RuleError, ShapeError
from symformer.language.symbols import SYMBOLS, E, H, P
from symformer.ledger.facts import Tensor
from symformer.ledger.operations import Operations
from symformer.ledger.placement import Cut
from symformer.quantities.saved_tensors import activation_terms
from symformer.witness.torch_session import Session

SIZES = {"B": 3, "S": 14, "E": 6, "H": 10, "P": 5}


@dataclass(frozen=True, kw_only=True)
class Slide(Component):
    """One or two convolutions; the input of the second one has a gradient."""

    title = "Slide"
    role = "other"
    shapes = "x[B,E,S] -> y"

    out: Expr = H
    kernel: tuple[Expr | int, ...] = (3,)
    stride: Expr | int = 1
    padding: Expr | int = 0
    groups: Expr | int = 1
    bias: bool = True
    before: bool = False

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        facts = {"stride": self.stride, "padding": self.padding, "groups": self.groups, "bias": self.bias}
        x = ops.convolution("first", x, E, (1,)) if self.before else x
        return ops.convolution("conv", x, self.out, self.kernel, **facts)


@dataclass(frozen=True, kw_only=True)
class Patches(Component):
    """Images of S by S, cut into patches of P by P."""

    title = "Patches"
    role = "other"
    shapes = "x[B,E,S,S] -> y[B,N_new,H]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.channels_last(ops.convolution("conv", x, H, (P, P), stride=P))


class Apart(nn.Module):
    """A grouped convolution as one convolution per channel, which torch's counter counts correctly."""

    def __init__(self, channels: int, **facts: int) -> None:
        super().__init__()
        self.each = nn.ModuleList(nn.Conv1d(1, 1, 4, **facts) for _ in range(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([one(channel) for one, channel in zip(self.each, x.split(1, dim=1), strict=True)], dim=1)


# a part, the torch module that is the same, the parameters by hand, the FLOPs by hand
CASES = [
    # 10 rows of 6*3 and a bias; 14 - 3 + 1 = 12 positions: 2*3*10*12*18
    (Slide(), lambda: nn.Conv1d(6, 10, 3), 190, 12_960),
    # (14 + 2 - 3)/2 + 1 = 7 positions, rounded down: 2*3*10*7*18
    (Slide(stride=2, padding=1), lambda: nn.Conv1d(6, 10, 3, stride=2, padding=1), 190, 7_560),
    # depthwise: 6 rows of 4, and 14 + 6 - 4 + 1 = 17 positions: 2*3*6*17*4
    (
        Slide(out=E, kernel=(4,), padding=3, groups=E),
        lambda: nn.Conv1d(6, 6, 4, padding=3, groups=6),
        30,
        2_448,
    ),
    (Slide(bias=False, kernel=(P,)), lambda: nn.Conv1d(6, 10, 5, bias=False), 300, 2 * 3 * 10 * 10 * 30),
    # before it 6 rows of 6 and a bias at 14 positions, 2*3*6*14*6; then as the first
    (Slide(before=True), lambda: nn.Sequential(nn.Conv1d(6, 6, 1), nn.Conv1d(6, 10, 3)), 232, 3_024 + 12_960),
    (
        Slide(before=True, out=E, kernel=(4,), padding=3, groups=E),
        lambda: nn.Sequential(nn.Conv1d(6, 6, 1), nn.Conv1d(6, 6, 4, padding=3, groups=6)),
        72,
        3_024 + 2_448,
    ),
    # 10 rows of 6*7*7; 14 by 14 has 2 by 2 patches: 2*3*10*4*294
    (Patches(), lambda: nn.Conv2d(6, 10, 7, stride=7), 2_950, 70_560),
]


def numbers(part: Component) -> dict[str, int]:
    return SIZES | ({"P": 7} if isinstance(part, Patches) else {})


def at(part: Component, quantity: str, **conventions: str) -> int:
    formula = part.formula(quantity, **conventions)
    return formula.value(
        {name: size for name, size in numbers(part).items() if name in map(str, formula.accepted_sizes)}
    )


def given(part: Component, device: str = "meta") -> torch.Tensor:
    return torch.zeros(3, 6, *(14,) * (2 if isinstance(part, Patches) else 1), device=device)


@pytest.mark.parametrize(("part", "module", "params", "flops"), CASES)
def test_convolution_matches_hand_values_and_torch(
    part: Component, module: Callable[[], nn.Module], params: int, flops: int
) -> None:
    session = Session(module)
    assert at(part, "params") == params == sum(each.numel() for each in session.model().parameters())
    assert at(part, "flops") == flops == session.flops(lambda model: model(given(part))).get_total_flops()
    trained = session.flops(lambda model: model(given(part)), backward=True).get_total_flops()
    assert at(part, "train-flops") == trained > flops
    assert session.products(lambda model: model(given(part)), backward=True).flops == trained


@pytest.mark.parametrize("before", [False, True])
def test_grouped_weight_gradient_adds_one_product(before: bool) -> None:
    """Torch's counter overcounts gradients by the number of groups, but counts each group alone correctly.

    By hand 2*3*6*17*4 = 2,448: forward, for the weight and, if something below is trained, for the input.
    """
    part = Slide(before=before, out=E, kernel=(4,), padding=3, groups=E)
    first = [nn.Conv1d(6, 6, 1)] if before else []
    counted = {}
    for name, module in (("together", nn.Conv1d(6, 6, 4, padding=3, groups=6)), ("apart", Apart(6, padding=3))):
        with torch.device("meta"):
            model = nn.Sequential(*first, module).to("meta")
        with FlopCounterMode(display=False) as counter:
            model(given(part)).sum().backward()
        counted[name] = counter.get_total_flops()
    assert counted["together"] - counted["apart"] == (6 - 1) * 2_448
    assert at(part, "train-flops") == counted["apart"] == 2 * 3_024 * before + (2 + before) * 2_448


@pytest.mark.parametrize(("part", "module", "params", "flops"), CASES)
def test_activations_match_saved_tensors(
    part: Component, module: Callable[[], nn.Module], params: int, flops: int
) -> None:
    """It saves its input, even if that is the model's input."""
    kept: dict[int, torch.UntypedStorage] = {}  # tensors would keep the graph, which keeps this
    model = module()
    weights = {each.untyped_storage()._cdata for each in model.parameters()}

    def keep(tensor: torch.Tensor) -> None:
        kept.setdefault((storage := tensor.untyped_storage())._cdata, storage)

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        model(given(part, "cpu"))
    theirs = sum(each.nbytes() for key, each in kept.items() if key not in weights)
    conventions = {"implementation": "eager", "dropout": "off", "recompute": "none", "dtype": "fp32"}
    terms = [term for some in activation_terms(part.ledger, conventions).values() for term in some]
    values = {SYMBOLS[name]: size for name, size in numbers(part).items()}
    assert sum(int(term.expr.xreplace(values)) for term in terms) == theirs > 0


def test_unsupported_convolution_quantities_are_refused() -> None:
    for quantity in ("kv-cache", "prefill-flops", "decode-flops", "inference-memory"):
        with pytest.raises(
            RuleError, match="conv: this convolution is not causal, so its earlier positions cannot be cached"
        ):
            Slide().formula(quantity)
    with pytest.raises(
        RuleError, match="conv: a convolution reads neighboring positions and is not supported with con"
    ):
        Slide().formula("params", context="on")
    with pytest.raises(RuleError, match="conv: implementation=megatron supports only the layers of its paper"):
        activation_terms(Slide().ledger, {"implementation": "megatron", "dropout": "off", "recompute": "none"})
    with pytest.raises(ShapeError, match=r"a kernel with 2 axes needs .*, but x is \[B, E, S\]"):
        _ = Slide(kernel=(3, 3)).ledger
    with pytest.raises(ShapeError, match="groups=2 from E channels to H is not supported; use one group"):
        _ = Slide(groups=2).ledger


@dataclass(frozen=True, kw_only=True)
class Divided(Component):
    """A convolution over channels that are sharded among ranks, depthwise or not."""

    title = "Divided"
    role = "other"
    shapes = "x[B,E,S] -> y"

    width: Expr = H
    alone: bool = True

    def split(self, cut: Cut) -> Divided:
        return replace(self, width=cut.share(self.width))

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        x = ops.channels_first(ops.linear("up", ops.channels_last(x), self.width))
        return ops.convolution("conv", x, self.width, (4,), groups=self.width if self.alone else 1)


def test_rank_convolves_its_own_channels() -> None:
    """By hand, for 10 channels on two ranks: 5*6 + 5 before it, then 5 rows of 4 and a bias of 5."""
    assert Divided().formula("params", tensor="on").value(E=6, H=10, N_tp=2) == 35 + 25
    with pytest.raises(RuleError, match="a convolution over sharded channels is not supported"):
        Divided(alone=False).formula("params", tensor="on")
