"""Former names, and other spellings of a name, give the same answer."""

from __future__ import annotations

import dataclasses
import inspect
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

import symformer as sf
from symformer.algebra.quantity_ratio import over
from symformer.language.aliases import Alias

# Attributes and methods


def aliases() -> list[tuple[type, str, Alias]]:
    """Return every former name in the package, with its class."""
    found = []
    for module in walk_packages(sf.__path__, "symformer."):
        if not module.name.startswith(("symformer.witness", "symformer.__main__")):  # torch is not needed here
            for name, kind in inspect.getmembers(import_module(module.name), inspect.isclass):
                if kind.__module__ == module.name and name != "Alias":
                    found += [(kind, old, each) for old, each in vars(kind).items() if isinstance(each, Alias)]
    return found


def test_every_former_name_refers_to_an_attribute_or_a_field() -> None:
    found = aliases()
    assert len(found) > 50
    for kind, old, each in found:
        fields = {item.name for item in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
        assert each.new in {*dir(kind), *fields}, f"{kind.__name__}.{old}"


@pytest.mark.parametrize(
    ("build", "old", "new"),
    [
        (lambda: sf.model("gpt2"), "checked", "validated"),
        (lambda: sf.model("gpt2").params, "asks", "dependencies"),
        (lambda: sf.model("gpt2").params, "written", "display_expr"),
        (lambda: sf.model("gpt2").formula("intensity"), "over", "denominator"),
        (lambda: over("gpt2", "flops", "params"), "below", "denominator"),
        (lambda: sf.compare("gpt2", "gpt2-xl"), "per", "divisor"),
        (lambda: sf.compare("gpt2", "gpt2-xl"), "card", "to_blocks"),
        (lambda: sf.check("12 L E^2", "gpt2"), "says", "verdict_text"),
        (lambda: sf.explain("gpt2", "124M"), "because", "reason"),
        (lambda: sf.sensitivity("gpt2"), "broken", "violated_conditions"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_former_name_returns_what_the_new_name_returns(build: Any, old: str, new: str) -> None:
    found = build()
    mine, other = getattr(found, old), getattr(found, new)
    assert mine() == other() if callable(mine) and not isinstance(mine, sf.Formula) else mine == other


def test_a_former_name_does_not_hide_an_overridden_method() -> None:
    """A subclass overrides the new name only."""
    ratio, formula = sf.model("gpt2").formula("intensity"), sf.model("gpt2").params
    assert ratio.asks == ratio.dependencies
    assert type(ratio).dependencies is not type(formula).dependencies
