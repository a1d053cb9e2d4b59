"""Sizes of factories: counts that start at one block, sizes that are rounded, and sizes without effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise, product

import pytest
import torch
from click.testing import CliRunner
from torch import nn

from symformer.commands.cli import cli
from symformer.language.errors import SymformerError
from symformer.witness import trace
from symformer.witness.trace_result import Trace


def stored(build: Callable[..., nn.Module], sizes: dict[str, int]) -> int:
    with torch.device("meta"):
        return sum(each.numel() for each in build(**sizes).parameters())


def exact(found: Trace, build: Callable[..., nn.Module], **tried: Iterable[int]) -> int:
    """Return the number of combinations at which the formula equals torch; at all others it must be refused."""
    count = 0
    for values in product(*tried.values()):
        sizes = dict(zip(tried, values, strict=True))
        try:
            ours = found.model.params.value(sizes)
        except SymformerError:
            continue
        assert ours == stored(build, sizes), sizes
        count += 1
    return count


def narrowing(E: int, L_1: int, L_2: int) -> nn.Module:
    """Two stages of blocks; the first block of each reads the previous width, so one block does not show the second."""
    widths = [E] + [2 * E] * L_1 + [3 * E] * L_2
    layers = [nn.Linear(a, b, bias=False) for a, b in pairwise(widths)]
    return nn.ModuleDict({"one": nn.Sequential(*layers[:L_1]), "two": nn.Sequential(*layers[L_1:])})


def shifted(E: int, L_1: int, L_2: int) -> nn.Module:
    """Both stages are in one list, so the position of the second depends on the length of the first."""
    return nn.Sequential(
        *(nn.Linear(E, E, bias=False) for _ in range(L_1)), *(nn.Linear(2 * E, E, bias=False) for _ in range(L_2))
    )


def later(E: int, H: int, L: int) -> nn.Module:
    """A width that only the blocks after the first have."""
    return nn.Sequential(*(nn.Linear(E, H if place else E, bias=False) for place in range(L)))


def third(E: int, L: int) -> nn.Module:
    """Every third block is twice as wide."""
    return nn.Sequential(*(nn.Linear(E, 2 * E if place % 3 == 2 else E, bias=False) for place in range(L)))


@pytest.mark.parametrize(
    ("build", "start"),
    [
        (narrowing, {"E": 8, "L_1": 1, "L_2": 1}),
        (narrowing, {"E": 8, "L_1": 1, "L_2": 5}),
        (shifted, {"E": 8, "L_1": 1, "L_2": 1}),
        (later, {"E": 8, "H": 5, "L": 1}),
        (third, {"E": 8, "L": 1}),
        (third, {"E": 8, "L": 2}),
    ],
)
def test_count_starting_at_one_block_is_a_size(build: Callable[..., nn.Module], start: dict[str, int]) -> None:
    found = trace(build, start)
    assert not found.pinned
    counts = {name: [1, 2, 3, 6, 7] for name in start if name.startswith("L")}
    widths = {name: [number + 2] for name, number in start.items() if name not in counts}
    assert exact(found, build, **counts, **widths) == 5 ** len(counts)


def test_flops_of_a_stage_starting_at_one_block_depend_on_its_count() -> None:
    def inputs(B: int, S: int, E: int) -> torch.Tensor:
        return torch.empty(B, S, E)

    def build(E: int, L: int) -> nn.Module:
        return nn.Sequential(*(nn.Linear(2 * E if place else E, 2 * E) for place in range(L)))

    found = trace(build, {"E": 8, "L": 1}, inputs=inputs).for_quantity("flops")
    # 2·2E·2E per block, the first one half of it
    assert found.model.formula("flops").equals("8*B*S*L*E**2 - 4*B*S*E**2")


def test_size_is_refused_below_the_first_differing_copy() -> None:
    def build(E: int, L: int) -> nn.Module:
        return nn.Sequential(*(nn.Linear(E, 3 * E if place > 1 else 2 * E) for place in range(L)))

    found = trace(build, {"E": 8, "L": 1})
    assert [(each.name, each.value) for each in found.pinned] == [("L", 1)]
    assert found.model.params.value(E=5, L=1) == 60  # 5·10 and a bias of 10


def vocabulary(V: int, E: int) -> nn.Module:
    """A table padded to a multiple of 64 rows, as in Megatron and nanoGPT."""
    return nn.Embedding(-(-V // 64) * 64, E)


def gated(E: int, L: int) -> nn.Module:
    """A width of 8/3 rounded up to a multiple of 256, as in Llama's first code."""
    H = 256 * ((int(2 * 4 * E / 3) + 255) // 256)
    return nn.Sequential(*(nn.Sequential(nn.Linear(E, H, bias=False), nn.Linear(H, E, bias=False)) for _ in range(L)))


def halved(E: int) -> nn.Module:
    return nn.Linear(E, 1 + E // 2 * 3, bias=False)


@pytest.mark.parametrize(
    ("build", "start", "formula"),
    [
        (vocabulary, {"V": 100, "E": 12}, "64*E*ceil(V/64)"),
        (lambda E: vocabulary(E, 5), {"E": 12}, "320*ceil(E/64)"),
        (gated, {"E": 24, "L": 2}, "512*L*E*ceil(E/96)"),  # 8E/3 exceeds 256n if E exceeds 96n
        (halved, {"E": 12}, "E + 3*E*floor(E/2)"),
    ],
)
def test_padded_size_is_exact_at_every_remainder(
    build: Callable[..., nn.Module], start: dict[str, int], formula: str
) -> None:
    found = trace(build, start)
    assert found.model.params.equals(formula)
    (rounded, _), *others = start.items()
    apart = {name: [other + 1] for name, other in others}
    sizes = [*range(1, 200, 7), *(96 * n + more for n in (2, 51) for more in (-33, -32, -31, -1, 0, 1, 32))]
    assert exact(found, build, **{rounded: sizes}, **apart) == len(sizes)


def make_divisible(width: float, divisor: int = 8) -> int:
    """The next multiple, as in timm, torchvision and RepViT: at most a tenth less, which matters below 40."""
    rounded = max(divisor, int(width + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * width else rounded


def squeezed(E: int, L_1: int, L_2: int) -> nn.Module:
    """Two stages of RepViT: a depthwise convolution, squeeze-and-excitation at a quarter width, two linear layers."""

    def block(E: int) -> nn.Module:
        R = make_divisible(E / 4)
        mixer = nn.Sequential(nn.Conv2d(E, E, 3, groups=E), nn.Conv2d(E, R, 1), nn.Conv2d(R, E, 1))
        return nn.Sequential(mixer, nn.Conv2d(E, 2 * E, 1), nn.Conv2d(2 * E, E, 1))

    stages = [nn.Sequential(*(block(width) for _ in range(length))) for width, length in ((E, L_1), (2 * E, L_2))]
    return nn.ModuleList([*stages, nn.Conv2d(E, 2 * E, 1)])


@pytest.mark.parametrize(
    ("E", "condition", "right"),
    [
        (48, "16 divides E", 8),  # at a multiple of 16, including 12·4, no quarter is rounded down by a tenth
        (160, "144 is at most E", 6),  # 143/4 is 35.75, rounded to 32, less than 0.9·35.75, so 40
    ],
)
def test_widths_rounded_to_a_divisor_are_exact_or_refused(E: int, condition: str, right: int) -> None:
    found = trace(squeezed, {"E": E, "L_1": 1, "L_2": 2})
    assert found.conditions == [condition]
    assert not found.pinned
    widths = [1, 8, 15, 16, 33, 36, 47, 48, 72, 107, 111, 112, 128, 143, 144, 145, 160, 177, 208, 240]
    assert exact(found, squeezed, E=widths, L_1=[2], L_2=[3]) == right
    assert found.model.params.value(E=E, L_1=1, L_2=2) == stored(squeezed, {"E": E, "L_1": 1, "L_2": 2})


def test_irregularly_rounded_width_is_refused() -> None:
    def build(E: int) -> nn.Module:
        return nn.Linear(E, -(-E // 64) * 64 + (E % 64 == 33), bias=False)  # one remainder of 64 behaves differently

    with pytest.raises(SymformerError, match=r"is not a short sum of products of E|in a way that no formula describes"):
        trace(build, {"E": 12})


def test_flops_of_a_padded_width_are_rounded() -> None:
    class Padded(nn.Module):
        def __init__(self, V: int, E: int) -> None:
            super().__init__()
            self.head = nn.Linear(E, -(-V // 64) * 64, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.as_tensor(self.head(x))

    def inputs(B: int, S: int, E: int) -> torch.Tensor:
        return torch.empty(B, S, E)

    found = trace(Padded, {"V": 100, "E": 12}, inputs=inputs).for_quantity("flops")
    assert found.model.formula("flops").equals("128*B*S*E*ceil(V/64)")


def test_size_with_effect_only_at_large_values_is_a_size() -> None:
    """A width of at least 100: at 12, and at small multiples of it, it is 100."""

    def build(E: int, H: int) -> nn.Module:
        return nn.Linear(max(E, 100), H, bias=False)

    found = trace(build, {"E": 12, "H": 7})
    assert found.model.params.equals("E*H")
    assert exact(found, build, E=[12, 24, 50, 63, 64, 65, 98, 99, 100, 101, 130, 1201], H=[5]) == 4


def idle(E: int, extra: int, deep: int = 2) -> nn.Module:
    return nn.Linear(E, E)


def test_inert_size_is_noted_and_misspelt_size_is_an_error() -> None:
    found = trace(idle, {"E": 8, "extra": 5})
    assert found.model.params.value(E=8) == 72  # 8·8 + 8
    assert found.ignored == ("extra=5",)
    target = f"{__file__}:idle"
    shown = CliRunner().invoke(cli, ["show", target, "--set", "E=8", "--set", "extra=5"])
    assert "= 72\n" in shown.stdout
    assert "extra=5: no effect on the stored weights\n" in shown.stdout
    traced = CliRunner().invoke(cli, ["trace", target, "--size", "E=8", "--size", "extra=5"])
    assert f"extra=5 in {target}: no effect on the weights of {target}\n" in traced.stdout
    wrong = CliRunner().invoke(cli, ["show", target, "--set", "E=8", "--set", "extra=5", "--set", "depe=3"])
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "has no argument 'depe'; did you mean deep?" in wrong.stderr
