"""The nearest relative of a model: the built-in architecture from which its structure differs in the fewest parts."""

from __future__ import annotations

from dataclasses import dataclass

from .. import architectures
from ..algebra.relatives import nearest_relative
from ..algebra.structure import StructureComparison
from ..algebra.structure_difference import compare_structures
from ..architectures.base_architecture import Architecture
from ..language.frozen import Immutable
from ..models.model import Model
from .stored_summaries import stored_relative


@dataclass(frozen=True)
class RelativeFacts(Immutable):
    """How a model differs from the nearest relative of its architecture."""

    name: str  # of the relative, as a target
    structure: StructureComparison


def relative_facts(model: Model) -> RelativeFacts | None:
    """Return how a model differs from its nearest relative; None without a relative, and for a traced model."""
    if not isinstance(model.component, Architecture) or model.provenance.reading:
        return None
    stored = stored_relative(model.id)
    name = nearest_relative(model.id) if stored is None else stored
    if not name:
        return None
    return RelativeFacts(name, compare_structures(model, architectures.architecture(name)))
