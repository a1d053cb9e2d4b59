"""Limits of traced formulas: sizes of 1, heads that do not divide, and rounded widths.

Every module here imitates a public library; its weights or products are computed by hand in the comment.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn

import symformer as sf
from symformer.language.errors import SizeError, SymformerError


def stored(model: nn.Module) -> int:
    return sum(each.numel() for each in model.parameters())


def reduced(E: int, ratio: int) -> nn.Module:
    """Keys and values of a reduced map, unless it is not smaller."""
    layers = nn.Sequential(nn.Linear(E, E, bias=False))
    if ratio > 1:
        layers.append(nn.Conv2d(E, E, ratio, ratio, bias=False))
    return layers


def whole_heads(E: int, A: int) -> nn.Module:
    """Heads of an integer width that fit."""
    return nn.Linear(E, E // A * A, bias=False)


def grouped(E: int, groups: int) -> nn.Module:
    """As many of 48 positions as fill whole groups; for common groups, these are all."""
    return nn.Linear(E, 48 // groups * groups, bias=False)


def attention(E: int, A: int, n: int) -> nn.Module:
    assert n
    return nn.MultiheadAttention(E, A, batch_first=True)


def thrice(B: int, n: int, E: int) -> tuple[torch.Tensor, ...]:
    return (torch.empty(B, n**2, E),) * 3


def rounded(E: int, c: int) -> nn.Module:
    """A width rounded up to a multiple of eight."""
    return nn.Linear(E, -(-c // 8) * 8, bias=False)


class Grown(nn.ModuleList):
    """Levels with increasing kernels, and a gate for each."""

    def __init__(self, E: int, levels: int) -> None:
        kernels = (nn.Conv1d(E, E, 2 * level + 3, bias=False) for level in range(levels))
        super().__init__([nn.Linear(E, E + levels, bias=False), *kernels])


def grown(E: int, depth: int, levels: int) -> nn.Module:
    return nn.ModuleList(Grown(E, levels) for _ in range(depth))


class Registered(nn.Module):
    """A token for every patch of an image, some registers, and a class token."""

    def __init__(self, E: int, registers: int) -> None:
        super().__init__()
        self.registers = registers
        self.layer = nn.Linear(E, E, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.layer(nn.functional.pad(x, (0, 0, 0, self.registers + 1)))
        return y


def registered(E: int, registers: int, n: int) -> nn.Module:
    assert n
    return Registered(E, registers)


def tokens(B: int, n: int, E: int) -> torch.Tensor:
    return torch.empty(B, n**2, E)


class Residual(nn.Module):
    """A convolution next to its input, which has the same length only if the kernel is odd."""

    def __init__(self, E: int, kernel: int) -> None:
        super().__init__()
        self.layer = nn.Conv1d(E, E, kernel, padding=(kernel - 1) // 2, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.add(self.layer(x), x)


def rows(B: int, S: int, E: int) -> torch.Tensor:
    return torch.empty(B, E, S)


def test_a_size_of_one_that_removes_a_module_is_refused() -> None:
    found = sf.trace(reduced, {"E": 24, "ratio": 6})
    assert found.model.params.equals("E**2 + E**2*ratio**2")
    assert found.conditions == ["2 is at most ratio"]
    assert found.model.params.value(E=24, ratio=2) == stored(reduced(24, 2)) == 5 * 24**2
    with pytest.raises(SizeError, match=r"ratio=1 .* is less than 2"):
        found.model.params.value(E=24, ratio=1)  # E² alone


def test_heads_that_round_a_width_down_are_pinned() -> None:
    found = sf.trace(whole_heads, {"E": 48, "A": 3})
    assert found.model.params.value(E=48, A=3) == stored(whole_heads(48, 3)) == 48 * 48
    assert found.model.params.value(E=47, A=3) == stored(whole_heads(47, 3)) == 47 * 45
    with pytest.raises(SizeError, match="A=7 is not 3"):
        found.model.params.value(E=48, A=7)  # 48 * 42


def test_a_width_that_most_group_counts_round_down_is_refused() -> None:
    with pytest.raises(SymformerError, match="fresh configs could be built to check the formula"):
        sf.trace(grouped, {"E": 30, "groups": 2})


def test_a_batch_of_one_with_other_product_shapes_is_accepted() -> None:
    """4E² products for each of n² patches, and 2E for each pair of them."""
    found = sf.trace(attention, {"E": 24, "A": 3, "n": 5}, inputs=thrice).for_quantity("flops")
    assert found.model.formula("flops").equals("8*B*n**2*E**2 + 4*B*n**4*E")
    assert found.conditions == ["A divides E"]


def test_a_rounded_width_is_rounded_in_the_formula() -> None:
    found = sf.trace(rounded, {"E": 10, "c": 48})
    assert found.model.params.equals("8*E*ceil(c/8)")
    assert not found.conditions
    assert found.model.params.value(E=10, c=40) == stored(rounded(10, 40)) == 400
    assert found.model.params.value(E=10, c=47) == stored(rounded(10, 47)) == 480


def test_a_number_of_different_levels_is_pinned() -> None:
    """Kernels of 3, 5 and 7 positions in three levels."""
    found = sf.trace(grown, {"E": 24, "depth": 2, "levels": 3})
    assert [(each.name, each.value) for each in found.pinned] == [("levels", 3)]
    assert found.model.params.value(E=24, depth=2, levels=3) == stored(grown(24, 2, 3)) == 18576  # 2·(24·27 + 15·24²)
    with pytest.raises(SymformerError, match="levels=4 is not 3"):
        found.model.params.value(E=24, depth=2, levels=4)


def test_register_tokens_are_counted_in_addition_to_image_patches() -> None:
    """E² products for each of n² + registers + 1 tokens."""
    found = sf.trace(registered, {"E": 24, "registers": 7, "n": 5}, inputs=tokens).for_quantity("flops")
    assert found.model.formula("flops").equals("2*B*(n**2 + registers + 1)*E**2")
    assert not found.pinned
    assert not found.conditions  # a batch of one multiplies the same, in another shape


def test_code_that_accepts_only_odd_kernels_is_traced() -> None:
    found = sf.trace(Residual, {"E": 24, "kernel": 5}, inputs=rows).for_quantity("flops")
    assert found.model.formula("flops").equals("2*B*S*E**2*kernel")
    assert len(found.checked) == 3


def strided(E: int, width: int, stride: int) -> nn.Module:
    """A matrix after three convolutions, each of which reduces the number of positions."""
    for _ in range(3):
        width = (width - 1) // stride + 1
    return nn.Linear(E, width, bias=False)


def test_a_stride_that_could_empty_the_output_is_pinned() -> None:
    """With strides as large as widths one position is left, for any width; 128, halved three times, leaves 16."""
    found = sf.trace(strided, {"E": 24, "width": 128, "stride": 2})
    assert found.model.params.equals("E*ceil(width/8)")
    assert [(each.name, each.value) for each in found.pinned] == [("stride", 2)]
    assert found.model.params.value(E=24, width=100, stride=2) == stored(strided(24, 100, 2)) == 24 * 13
    assert found.model.params.value(E=24, width=128, stride=2) == stored(strided(24, 128, 2)) == 384
