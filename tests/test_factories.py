"""Factories of third-party libraries, family by family: exact at any sizes, or refused.

By default, the factories of torch and of the packages that the tests need are traced; with ``FACTORIES=all``, all of
tests/factories.py, if torchvision, timm, open_clip, litgpt and diffusers are installed too.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from symformer.language.errors import SymformerError

from .factories import FAMILIES, Family, afresh, facts, on_file
from .samples import sampled

EVERY = os.environ.get("FACTORIES") == "all"
HERE = [name for name, family in FAMILIES.items() if EVERY or family.library in ("torch", "x_transformers")]
SLOW = ("LSTM", "bidirectional GRU", "LSTM with projections", "encoder and decoder", "Transformer")  # a minute each
RUN = [name for name in HERE if EVERY or name not in SLOW]
SOME = 3  # random points, in addition to those at the edges

# Families with a size that is not a symbol, and the reason.
NOT_WHOLE = {
    "DenseNet": "every layer is wider than the one before it",
    "FocalNet": "every level has a wider kernel than the one before it",
}
# Families that are not run, and the reason.
NOT_RUN = {
    "Mixtral": "which tokens an expert reads is asked of the data",
}


def points(family: Family) -> Iterator[dict[str, int]]:
    """Yield each size at 1, at a number that divides nothing, and plus one; then all sizes at random."""
    sizes, random = family.sizes, Random(12)  # noqa: S311
    for name, size in sizes.items():
        yield from ({**sizes, name: other} for other in (1, 2, 7, size + 1, size - 1))
    for _ in range(SOME):
        yield {name: random.choice((2 * size, size + 8, random.randint(1, 2 * size))) for name, size in sizes.items()}


def stored(family: Family, sizes: dict[str, int]) -> int | None:
    """Return the number of parameters in torch, or None if the library rejects the sizes."""
    try:
        with torch.device("meta"):
            return sum(each.numel() for each in family.build(**sizes).parameters())
    except Exception:  # any error of a library
        return None


def multiplied(family: Family, sizes: dict[str, int]) -> int | None:
    """Return the FLOPs of a forward pass by torch's counter, or None if the library rejects the sizes."""
    given = {name: sizes[name] for name in inspect.signature(family.inputs).parameters}
    counter = FlopCounterMode(display=False)
    try:
        with torch.device("meta"):
            model = family.build(**{name: sizes[name] for name in family.sizes}).eval()
            inputs: Any = family.inputs(**given)
            with counter, sdpa_kernel(SDPBackend.MATH):
                model(*inputs) if isinstance(inputs, tuple) else model(inputs)
    except Exception:  # any error of a library
        return None
    return int(counter.get_total_flops())


def held(name: str, quantity: str) -> int:
    """Return the number of points at which a formula equals torch; at all others, one of the two is refused."""
    family = FAMILIES[name]
    found = afresh(name).for_quantity(quantity)
    formula = found.model.formula(quantity)
    lengths = [each for each in inspect.signature(family.inputs).parameters if each not in family.sizes]
    asked = {*found.symbols, *(each.name for each in found.pinned)}
    random, exact = Random(13), 0  # noqa: S311
    for sizes in points(family):
        run = sizes if quantity == "params" else {**sizes, **{each: random.choice((1, 2, 3, 5)) for each in lengths}}
        theirs = stored(family, run) if quantity == "params" else multiplied(family, run)
        if theirs is None:
            continue
        try:
            ours = formula.value({each: number for each, number in run.items() if each in asked})
        except SymformerError:
            continue
        assert ours == theirs, (run, str(formula))
        exact += 1
    return exact


@pytest.mark.parametrize("name", sampled(2, HERE))
def test_factory_parameters_are_exact_or_refused(name: str) -> None:
    assert held(name, "params") >= len(FAMILIES[name].sizes)
    kept = {each.name for each in afresh(name).pinned}
    assert bool(kept) == (name in NOT_WHOLE)


@pytest.mark.parametrize("name", sampled(4, RUN))
def test_factory_flops_are_exact_or_refused(name: str) -> None:
    if name in NOT_RUN:
        with pytest.raises(SymformerError):
            afresh(name).for_quantity("flops")
        return
    assert held(name, "flops") >= 3


@pytest.mark.parametrize("name", [name for name in RUN if name in on_file()["families"]])
def test_stored_families_match_a_fresh_trace(name: str) -> None:
    for quantity in ("params", "flops"):
        assert facts(name, quantity) == on_file()["families"][name][quantity]


def test_number_of_supported_families() -> None:
    """Of 30 families, 27 have every size as a symbol and 20 have FLOPs; the tests above check every family."""
    assert len(FAMILIES) >= 30
    assert 30 * len(FAMILIES.keys() - {*NOT_WHOLE}) >= 27 * len(FAMILIES)
    assert 30 * len(FAMILIES.keys() - {*NOT_WHOLE, *NOT_RUN}) >= 20 * len(FAMILIES)
    for name, family in FAMILIES.items():
        assert len({*family.sizes.values()}) == len(family.sizes), name  # all different
