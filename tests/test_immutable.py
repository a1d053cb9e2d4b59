"""Public values are immutable at every depth, and can still be hashed, copied and pickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from functools import cached_property
from types import FunctionType, MethodType, ModuleType
from typing import Any

import pytest
from sympy import Basic
from torch import empty, nn

import symformer as sf
from symformer.algebra.sweep import Sweep
from symformer.certificates import certificates_of
from symformer.language.frozen import FrozenDict, FrozenList, freeze
from symformer.language.symbols import L

GPT2_XL = 1_557_611_200  # the parameters of the published checkpoint


def traced() -> Any:
    return sf.trace(
        lambda E, H: nn.Sequential(nn.Linear(E, H), nn.Linear(H, E)),
        {"E": 8, "H": 20},
        inputs=lambda B, S, E: (empty(B, S, E),),
    )


VALUES: dict[str, Callable[[], Any]] = {
    "an architecture": lambda: sf.model("gpt2"),
    "layers of two kinds": lambda: sf.model("deepseek-v3"),
    "a model of the catalogue": lambda: sf.model("hf:arcee"),
    "a component": lambda: sf.component("pre-norm-block"),
    "a formula": lambda: sf.model("gpt2-xl").formula("flops", attention="causal"),
    "a formula per rank": lambda: sf.model("llama-2-70b").formula("params", tensor="on", pipeline="first"),
    "a derivation": lambda: sf.model("llama-2-7b").params.derivation,
    "a compiled formula": lambda: sf.model("gpt2").formula("flops").compile(),
    "a certificate": lambda: next(iter(certificates_of("gpt2"))),
    "a trace": traced,
    "a trace of FLOPs": lambda: traced().for_quantity("flops"),
    "a comparison": lambda: sf.compare("gpt2-xl", "llama-2-7b", match="params", adjust="L"),
    "a check": lambda: sf.check("12LE^2 + 13LE + VE + PE", "gpt2"),
    "an explanation": lambda: sf.explain("gpt2", "117M"),
    "solutions": lambda: sf.solve("llama-2-7b", 6738415616, unknowns="L"),
    "a sweep": lambda: sf.sweep("gpt2", {"L": [12, 24]}),
    "a sensitivity": lambda: sf.sensitivity("gpt2"),
    "a quotient": lambda: sf.over("gpt2", "kv-cache", "params"),
    "a picture": lambda: sf.compare("gpt2", "llama-2-7b").plot(),
}


def mutable(value: Any, path: str, seen: dict[int, Any]) -> Iterator[str]:
    """Yield the paths below a value to mutable dicts, lists and sets."""
    ends = (Basic, str, int, float, type, FunctionType, MethodType, ModuleType)
    if value is None or id(value) in seen or isinstance(value, ends):
        return
    seen[id(value)] = value
    changes = isinstance(value, (dict, list, set, bytearray))
    if changes and type(value) not in (FrozenDict, FrozenList):
        yield f"{path}: {type(value).__name__}"
    inside: dict[Any, Any] = {}
    if isinstance(value, dict):
        inside = {f"[{name}]": each for name, each in value.items()}
    elif isinstance(value, (list, tuple, set, frozenset)):
        inside = {f"[{place}]": each for place, each in enumerate(value)}
    else:
        inside = {f".{name}": each for name, each in getattr(value, "__dict__", {}).items()}
    for name, each in inside.items():
        # Private names are working state; a sweep counts the rows it leaves out on every read.
        if not name.startswith("._") and (type(value), name) != (Sweep, ".rejected"):
            yield from mutable(each, path + name, seen)


@pytest.mark.parametrize("name", VALUES)
def test_public_values_are_immutable_at_every_depth(name: str) -> None:
    value, seen = VALUES[name](), dict[int, Any]()
    for each in dir(type(value)):  # cached properties
        if isinstance(getattr(type(value), each, None), cached_property) and not each.startswith("_"):
            getattr(value, each)
    assert list(mutable(value, name, seen)) == []
    assert sum(type(each) is FrozenDict for each in seen.values()) > 0  # the test inspected something


def test_the_numbers_of_a_model_cannot_be_changed() -> None:
    model = sf.model("gpt2-xl")
    before = model.params.value()
    for change in (
        lambda: model.numbers.__setitem__(L, 1),
        lambda: model.numbers.update({L: 1}),
        lambda: model.numbers.pop(L),
        model.numbers.clear,
        lambda: model.known.pop(L),
        lambda: model.relations.setdefault(L, L),
        lambda: model.provenance.numbers.__delitem__(L),
        lambda: model.component.relations.__ior__({}),
        lambda: model.component.ledger.root.items.append(None),
        model.component.ledger.root.items.sort,
        model.params.conventions.popitem,
    ):
        with pytest.raises(TypeError, match="part of an immutable value; change a copy of it"):
            change()
    assert model.params.value() == before == GPT2_XL
    assert sf.model("gpt2-xl").params.value() == GPT2_XL


def test_model_is_independent_of_its_input_mapping() -> None:
    numbers = {L: 3}
    model = sf.Model(target="linear", component=sf.component("pre-norm-block"), numbers=numbers)
    numbers[L] = 4
    assert model.numbers == {L: 3}


@pytest.mark.parametrize("name", ["an architecture", "a formula", "a certificate", "a comparison", "a trace of FLOPs"])
def test_public_values_are_hashed_copied_and_pickled(name: str) -> None:
    value = VALUES[name]()
    assert {value: 1}[value] == 1
    assert repr(copy(value)) == repr(value)
    if "trace" not in name:  # it holds the user's own function
        assert repr(pickled(value)) == repr(deepcopy(value)) == repr(value)


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301


def test_frozen_containers_equal_their_sources() -> None:
    given = {"a": [1, {"b": {2, 3}}], "c": (4, [5])}
    frozen = freeze(given)
    assert frozen == {"a": (1, {"b": frozenset({2, 3})}), "c": (4, (5,))}
    assert given["a"] == [1, {"b": {2, 3}}]
    assert freeze(frozen) is frozen
    for each in (pickled(frozen), copy(frozen), deepcopy(frozen)):
        assert each == frozen
        assert type(each) is FrozenDict
        assert hash(each) == hash(frozen)
    assert type(frozen | {}) is type({**frozen}) is type(frozen.copy()) is dict
    items = FrozenList([6, 7])
    assert pickled(items) == deepcopy(items) == items[:] == [6, 7]
    assert type(items[:]) is list
