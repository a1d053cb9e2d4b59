"""Counts of parameters: of the model, of its variants with one option changed, and of active experts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...language.errors import SymformerError
from ...language.symbols import symbol
from ...models.model import Model
from . import parameter_changes
from .counting_changes import Rank
from .counting_method import CountingMethod, numbers_of_model

HEADS = ("head", "tied", "pooler")  # options that determine the modules after the layers


def parameter_counts(model: Model, active: bool, quantity: str = "params") -> Iterator[CountingMethod]:
    """Yield the parameter counts of the model, of its variants with one option changed, and of active experts."""
    wanted = "active-params" if active else quantity
    called = {"params": "the number of parameters", "active-params": "the number of active parameters"}
    yield of_weights(model, wanted, called.get(wanted, "the number of trainable parameters"))
    if wanted == "params" and symbol("X") in model.known:
        way = of_weights(model, "active-params", "the number of active parameters")
        yield replace(way, says=("only the experts that a token is routed to",), rank=Rank.HEAD)
    if wanted == "trainable-params":
        return
    for said, other in option_variants(model):
        rank = Rank.HEAD if said.partition("=")[0] in HEADS else Rank.PARTS
        yield replace(of_weights(other, wanted, called[wanted]), says=(said,), rank=rank)


def of_weights(model: Model, quantity: str, counts: str) -> CountingMethod:
    formula = model.formula(quantity)
    return CountingMethod(
        counts,
        formula,
        numbers_of_model(model, formula),
        model,
        made=lambda: parameter_changes.parameter_changes(model, formula),
    )


def option_variants(model: Model) -> Iterator[tuple[str, Model]]:
    """Yield the variants of a model with one option changed that store other weights."""
    component, own = model.component, model.params.expanded
    for name, values in component.choices().items():
        if any(word in name for word in ("activation", "dropout", "window")):
            continue
        for value in values:
            if value == getattr(component, name):
                continue
            try:
                other = replace(model, component=replace(component, **{name: value}))
                if other.params.expanded != own:
                    other.params.value()
                    yield f"{name}={str(value).lower()}", other
            except (SymformerError, TypeError):
                continue
