"""The nearest relative of a model: the built-in architecture from which its structure differs in the fewest parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .. import architectures
from ..algebra.relatives import compared_to_relative, nearest_relative
from ..algebra.structure import StructureComparison
from ..architectures.base_architecture import Architecture
from ..language.frozen import FrozenDict, Immutable
from ..models.model import Model
from ..quantities import quantity as find_quantity
from .stored_summaries import stored_relative


@dataclass(frozen=True)
class RelativeFacts(Immutable):
    """How a model differs from the nearest relative of its architecture."""

    name: str  # of the relative, as a target
    stated: bool  # whether the architecture names its relative, which then need not differ in the fewest parts
    counted: Mapping[str, str]  # the options of the relative that count weights which its published total excludes
    quantity: str  # whose amounts are compared
    title: str  # of the quantity
    structure: StructureComparison


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
    stored = stored_relative(model.id)
    name = nearest_relative(model.id) if stored is None else stored
    if not name:
        return None
    structure = compared_to_relative(model, name, (quantity,), conventions)
    if structure.refused:
        return None
    stated = bool(type(model.component).compared_with)
    counted = FrozenDict(architectures.architecture_class(name).uncounted)
    return RelativeFacts(name, stated, counted, quantity, find_quantity(quantity).measure.title, structure)
