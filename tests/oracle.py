"""What torch itself counts. Every helper asserts that it counted something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import torch
from sympy import Symbol
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from symformer.formula import Formula
from symformer.sizes import evaluate
from symformer.symbols import SYMBOLS

Numbers = Mapping[Symbol, int]


def distinct(sizes: Mapping[str, int]) -> dict[Symbol, int]:
    """Sizes by symbol; all different, so that no mistake hides behind two that coincide."""
    assert len(set(sizes.values())) == len(sizes), f"sizes coincide: {sizes}"
    return {SYMBOLS[name]: number for name, number in sizes.items()}


def stored(module: nn.Module) -> list[tuple[int, ...]]:
    """The shape of every unique parameter, each shape sorted: some libraries store a matrix transposed."""
    shapes = [tuple(sorted(parameter.shape)) for parameter in module.parameters()]
    assert shapes, "the module has no parameters: nothing was checked"
    return shapes


def assert_same_weights(formula: Formula, numbers: Numbers, module: nn.Module) -> None:
    """Every weight that the formula counts, with its shape, and no other; then the total."""
    ours: Counter[tuple[int, ...]] = Counter()
    for count, line in formula.root.leaves():
        for term in line.terms:
            shape = [evaluate(dim.xreplace(formula.relations), numbers, term.label) for dim in term.factors]
            ours[tuple(sorted(shape))] += evaluate(count.xreplace(formula.relations), numbers, term.label)
    assert ours == Counter(stored(module))
    assert formula.value(dict(numbers)) == sum(parameter.numel() for parameter in module.parameters())


def counted_flops(module: nn.Module, *inputs: torch.Tensor, must: Iterable[str] = (), **keywords: object) -> int:
    """The FLOPs of one forward, contractions only, by torch's own counter.

    ``must`` names the operations that have to have counted more than nothing: the fused attention kernels of a CPU
    count 0 in silence, so the plain ones are asked for.
    """
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        module(*inputs, **keywords)
    by_operation = {str(name).split(".")[-1]: count for name, count in counter.get_flop_counts()["Global"].items()}
    for name in must:
        assert by_operation.get(name, 0) > 0, f"{name} counted nothing: {by_operation}"
    total = counter.get_total_flops()
    assert total > 0
    return total
