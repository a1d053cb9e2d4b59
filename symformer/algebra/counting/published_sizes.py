"""Whether a model has the published sizes of its target."""

from __future__ import annotations

from ...architectures import composed_model, presets
from ...models.model import Model


def has_published_sizes(model: Model) -> bool:
    """Return True if a model has the unchanged sizes of its target."""
    if model.target in presets():
        known = composed_model(model.target).known
        return all(model.known.get(size) == number for size, number in known.items())
    return True
