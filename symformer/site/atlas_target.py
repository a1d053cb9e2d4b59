"""The models of the atlas: every architecture, every preset, and every class of the catalogue that is not built in."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from .. import architectures
from ..architectures.base_architecture import Architecture
from ..catalogue.entries import ConfigMatch, census_types, classes, find_entry, finder
from ..catalogue.record import model_of_records
from ..documents.gallery_pages import typical
from ..language.errors import SymformerError, UnknownNameError
from ..language.target import HF
from ..models.model import Model
from ..targets.resolution import resolve
from ..views.example_facts import with_numbers

Kind = Literal["architecture", "preset", "class"]


@dataclass(frozen=True)
class AtlasTarget:
    """A model with a page.

    Attributes
    ----------
    name
        The name of the model: the target that users type, or the class and the model type of a class that a model type
        does not stand for.
    kind
        Whether it is an architecture, a preset or a class of the catalogue.
    config
        The class and the model type of a class of the catalogue.

    """

    name: str
    kind: Kind
    config: tuple[str, str] | None = None

    @property
    def slug(self) -> str:
        """The name of its files.

        >>> AtlasTarget("hf:jetmoe", "class").slug, AtlasTarget("llama-3.2-1b", "preset").slug
        ('hf-jetmoe', 'llama-3.2-1b')
        """
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.name)

    @property
    def path(self) -> str:
        """The path of its page below the root of the site."""
        return f"models/{self.slug}.html"

    @property
    def typed(self) -> str:
        """The target that a command takes, or "" for a class that only a config.json names."""
        return "" if self.name.partition(":")[0] != HF.rstrip(":") and self.kind == "class" else self.name

    def model(self) -> Model:
        """Return the model, with the sizes of an example: of a preset, or of the default config of a class.

        Raises
        ------
        SymformerError
            If the catalogue has no formula for the class.

        """
        if self.kind == "preset":
            return architectures.architecture(self.name)
        if self.config is None:
            return with_numbers(typical(self.name))
        class_name, model_type = self.config
        try:
            model = resolve({"model_type": model_type, "architectures": [class_name]}, trace=False)[0]
        except SymformerError:  # a class without defaults for all of its sizes
            kept = find_entry(class_name, model_type)
            if kept is None:
                raise
            return model_of_records(self.name, finder(kept, ConfigMatch({})))
        return replace(model, target=self.name)


@cache
def atlas_targets() -> tuple[AtlasTarget, ...]:
    """Return all models with a page: architectures, presets, and classes of the catalogue."""
    built_in = {kind for name in architectures.names() for kind in architectures.model_types(name)}
    own = [AtlasTarget(name, "architecture") for name in architectures.names()]
    presets = [AtlasTarget(name, "preset") for name in architectures.presets() if name not in {*architectures.names()}]
    found = []
    for class_name, model_type in classes():
        if model_type not in built_in:
            filed = census_types().get(model_type)
            usual = filed is not None and filed.name == class_name
            name = f"{HF}{model_type}" if usual else f"{class_name}.{model_type}"
            found.append(AtlasTarget(name, "class", (class_name, model_type)))
    return (*own, *presets, *found)


@cache
def chosen_targets(names: tuple[str, ...] | None) -> tuple[AtlasTarget, ...]:
    """Return the models with these names, or all of them. Raises UnknownNameError."""
    if names is None:
        return atlas_targets()
    known = {each.name: each for each in atlas_targets()}
    for name in names:
        if name not in known:
            raise UnknownNameError("model of the atlas", name, known)
    return tuple(known[name] for name in dict.fromkeys(names))


def architecture_of(model: Model) -> type[Architecture] | None:
    """Return the built-in architecture of a model, or None for a class of the catalogue."""
    return type(model.component) if isinstance(model.component, Architecture) else None
