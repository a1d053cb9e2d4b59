"""Comparisons of a formula with a torch module. Every helper asserts that there was something to compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sympy import Symbol
from torch import nn

from symformer.formulas.formula import Formula
from symformer.language.sizes import evaluate
from symformer.language.symbols import SYMBOLS

Numbers = Mapping[Symbol, int]


def distinct(sizes: Mapping[str, int]) -> dict[Symbol, int]:
    """Return sizes by symbol, all different, so that no error is hidden by two equal sizes."""
    assert len(set(sizes.values())) == len(sizes), f"sizes coincide: {sizes}"
    return {SYMBOLS[name]: number for name, number in sizes.items()}


def stored(module: nn.Module) -> list[tuple[int, ...]]:
    """Return the sorted shape of every unique parameter: some libraries store the transpose of a matrix."""
    shapes = [tuple(sorted(parameter.shape)) for parameter in module.parameters()]
    assert shapes, "the module has no parameters: nothing was checked"
    return shapes


def assert_same_weights(formula: Formula, numbers: Numbers, module: nn.Module) -> None:
    """Assert that the formula counts every weight with its shape and no other, and that the totals are equal."""
    ours: Counter[tuple[int, ...]] = Counter()
    for count, line in formula.root.leaves():
        for term in line.terms:
            shape = [evaluate(dim.xreplace(formula.relations), numbers, term.label) for dim in term.factors]
            ours[tuple(sorted(shape))] += evaluate(count.xreplace(formula.relations), numbers, term.label)
    assert ours == Counter(stored(module))
    assert formula.value(dict(numbers)) == sum(parameter.numel() for parameter in module.parameters())
