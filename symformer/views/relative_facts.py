"""The nearest relative of a model: the built-in architecture from which its structure differs in the fewest parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .. import architectures
from ..algebra.relatives import Relative, compared_to_relative
from ..algebra.structure import QUANTITIES, StructureComparison
from ..architectures.base_architecture import Architecture
from ..language.errors import SymformerError
from ..language.frozen import FrozenDict, Immutable
from ..models.model import Model
from ..quantities import quantity as find_quantity
from .stored_summaries import relative_of


@dataclass(frozen=True)
class RelativeFacts(Immutable):
    """How a model differs from the nearest relative of its architecture."""

    relative: Relative
    ties: Mapping[str, str]  # the titles of the architectures that are as near, by name
    counted: Mapping[str, str]  # the options of the relative that count weights which its published total excludes
    quantity: str  # whose amounts are compared
    title: str  # of the quantity
    structure: StructureComparison
    others: tuple[str, ...]  # further quantities that both models support
    changed: bool  # whether the model has other options than those for which the relative was chosen


def relative_facts(model: Model, quantity: str, conventions: Mapping[str, str]) -> RelativeFacts | None:
    """Return how a model differs from its nearest relative.

    Weights that the published total of the relative excludes are counted.

    Parameters
    ----------
    model
        The model.
    quantity
        The quantity whose amounts are compared, one of the quantities of a comparison of structures.
    conventions
        The conventions of the quantity.

    Returns
    -------
    RelativeFacts or None
        None for a traced model, without a relative, and if the relative does not support the quantity.

    """
    if not isinstance(model.component, Architecture) or model.provenance.reading:
        return None
    relative = relative_of(model.id)
    if relative is None:
        return None
    structure = compared_to_relative(model, relative.name, (quantity,), conventions)
    if structure.refused:
        return None
    counted = FrozenDict(architectures.architecture_class(relative.name).uncounted)
    ties = FrozenDict({name: architectures.architecture_class(name).title for name in relative.ties})
    others = tuple(
        name for name in QUANTITIES if name != quantity and all(_supports(each, name) for each in structure.models)
    )
    title, changed = find_quantity(quantity).measure.title, bool(model.component.changed_options)
    return RelativeFacts(relative, ties, counted, quantity, title, structure, others, changed)


def _supports(model: Model, quantity: str) -> bool:
    """Return whether a model has a formula for a quantity, as an encoder has none for the key/value cache."""
    try:
        model.formula(quantity)
    except SymformerError:
        return False
    return True
