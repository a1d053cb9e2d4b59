"""One file per architecture with its expected numbers and a small config; the tests of all models read them.

``symformer new architecture NAME`` writes a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

Total = tuple[str, Mapping[str, Any], int]


@dataclass(frozen=True)
class SmallConfig:
    """A config.json in which all sizes differ, also from the sizes of the run, and the classes that read it."""

    model_type: str = ""  # "" if transformers has no such model
    fields: Mapping[str, Any] = field(default_factory=dict)  # fields of a section by their path: text_config.vocab_size
    classes: tuple[str, ...] = ()  # of transformers, by name; tests use the first unless they compare all
    # An encoder also gets positions, and segments if its config has a type_vocab_size.
    # "texts and images" are read by separate encoders; with "images among tokens", some tokens stand for images.
    inputs: Literal[
        "tokens", "encoder tokens", "images", "texts and images", "images among tokens", "source and target", "sound"
    ] = "tokens"


@dataclass(frozen=True)
class Computation:
    """How to evaluate the printed computation with torch, where it differs from the usual: tests/words.py."""

    config: Mapping[str, Any] = field(default_factory=dict)  # fields in addition to the small config
    words: Mapping[str, str] = field(default_factory=dict)  # printed function -> a function of tests/words.py
    cap: float = 0.0  # the soft cap c of c·tanh(x/c)
    epsilon: float = 0.0  # of the norms, if the config does not state it
    # How experts are chosen and weighted, in tests/words.py.
    route: Literal[
        "of_all", "shares_of_all", "of_chosen", "of_groups", "sigmoids_of_chosen", "shares_of_sigmoids", "sparse_mixer"
    ] = "of_all"
    factors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # numbers specific to a part, by its name
    by_head: bool = False  # whether a fused matrix has the query, key and value of each head next to each other
    groups: int = 0  # the number of heads that share a key, if no size states it
    apart: tuple[str, ...] = ()  # parts whose torch module computes more: with its norm or its residual sum


@dataclass(frozen=True)
class ModelCase:
    """The expected numbers of an architecture, from torch, a paper, another library, or arithmetic in a comment."""

    name: str
    # A target, options and a total. The comment has the source. "on meta": the sum of numel of transformers' class at
    # these sizes. keras-hub states the totals of its models in their presets, without heads, poolers and rows that it
    # drops.
    totals: tuple[Total, ...]
    # Target -> row -> the parameters of one copy of it, in execution order.
    rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    config: SmallConfig = SmallConfig()
    computation: Computation = Computation()
    # The computations of further configs, by a description of what differs.
    options: Mapping[str, Computation] = field(default_factory=dict)


@cache
def cases() -> Mapping[str, ModelCase]:
    """Return the cases of all architectures by name."""
    stems = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__")
    found: list[ModelCase] = [import_module(f"{__name__}.{stem}").MODEL for stem in stems]
    assert [case.name.replace("-", "_") for case in found] == stems
    return {case.name: case for case in found}
