"""An operation without weights that the ledger records as a module is a module of the torch class."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cache

import pytest
from sympy import Symbol
from torch import nn

from symformer.architectures import architecture, names, variants
from symformer.architectures.base_architecture import SETTING, Architecture, WitnessSpec
from symformer.configs.config_fields import ProbabilityField
from symformer.language.sizes import AtMost, Divides
from symformer.ledger.facts import Entry
from symformer.models.model import Model
from symformer.witness.sampling_plan import plan
from symformer.witness.stored_weights import build
from symformer.witness.weight_paths import layer_order, path_in_list, towers, with_stars

from .samples import sampled


@cache
def every_variant(name: str) -> list[Model]:
    """Return the variants of an architecture, and the first with every option of a probability of dropout."""
    first, *others = variants(architecture(name)) or [architecture(name)]
    options = [
        each.name for each in fields(first.component) if isinstance(each.metadata.get(SETTING), ProbabilityField)
    ]
    dropped = replace(first.component, **dict.fromkeys(options, True))
    return [first, *others, *([] if dropped == first.component else [replace(first, component=dropped)])]


def built(model: Model) -> tuple[nn.Module, Mapping[Symbol, int]]:
    """Return the torch class of a model at random sizes, and these sizes."""
    general = replace(model, relations={}, numbers={})
    assert isinstance(model.component, Architecture)
    conditions = [each for each in general.constraints if isinstance(each, Divides | AtMost)]
    planned = plan(general, [general.formula("params")], (*conditions, *model.component.witness.conditions))
    numbers = planned.draw(random.Random(0), planned.places[0])  # noqa: S311
    return build(model.component, numbers), numbers


def our_names(component: Architecture, name: str, numbers: Mapping[Symbol, int]) -> Iterator[str]:
    """Yield our paths of a module of the class: in the list of all layers, and in the layers of its own kind."""
    path = path_in_list(component, name)
    yield with_stars(path)
    for before, stacks in towers(component).items():
        layers, _, inside = path.removeprefix(before).partition(".")
        place, _, rest = inside.partition(".")
        if path.startswith(before) and len(stacks) > 1 and layers and place.isdigit():
            order = layer_order(component, before, numbers)
            own = order[int(place) : int(place) + 1]
            yield from (with_stars(before + ".".join(filter(None, (kind, place, rest)))) for kind in own)


def named_modules(model: Model) -> list[Entry]:
    """Return the operations without stored weights that the ledger records as modules."""
    ledgers = {model.ledger, model.ledger.apart}
    return [entry for ledger in ledgers for _, entry in ledger if entry.module and not entry.weights]


@pytest.mark.parametrize("name", sampled(12, names()))
def test_every_operation_that_is_recorded_as_a_module_is_one_in_the_class(name: str) -> None:
    for model in every_variant(name):
        component = model.component
        assert isinstance(component, Architecture)
        torch_model, numbers = built(model)
        found = {ours for theirs, _ in torch_model.named_modules() for ours in our_names(component, theirs, numbers)}
        missing = {entry.path for entry in named_modules(model) if with_stars(entry.path) not in found}
        assert not missing, component.changed_options


def test_every_function_of_a_class_names_an_operation_of_the_ledger() -> None:
    unused = []
    for name in names():
        models = every_variant(name)
        ends = dict.fromkeys(models[0].component.functions)
        for end in ends if ends.keys() != {*WitnessSpec().functions} else ():
            paths = [f".{entry.path}" for model in models for _, entry in model.ledger]
            if not any(path.endswith(f".{end}") for path in paths):
                unused.append((name, end))
    assert unused == []
