"""Architectures, one per file, and presets, which are listed with their sources in presets.json."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from sympy import Expr, Integer

from .. import components
from ..configs.architecture_lookup import reader
from ..configs.config_fields import Field
from ..configs.config_source import OpenedConfig, config_of
from ..language.errors import ConfigError, OptionError, TargetError, UnknownNameError
from ..language.registry import Registry
from ..language.sizes import Numbers, format_value
from ..language.symbols import L, named_symbol
from ..language.target import AnyTarget, Target, TargetKind, parse
from ..models.model import Model
from ..models.provenance import ConfigLocation, Provenance
from ..models.torch_modules import check_stored
from .base_architecture import Architecture, Fields

registry: Registry[Architecture] = Registry(__name__, Architecture)  # type: ignore[type-abstract]


def names() -> list[str]:
    """Return the names of all built-in architectures: their file names with hyphens."""
    return registry.names


def all_names() -> list[str]:
    """Return the names of all architectures, those that other packages register last."""
    return registry.all_names


def known(name: str) -> bool:
    """Return whether an architecture or a preset has this name. Other packages are searched last."""
    return name in presets() or name in registry


def architecture_class(name: str) -> type[Architecture]:
    """Return the class of an architecture by name. Raises UnknownNameError."""
    return registry.load(name)


def model_types(name: str) -> tuple[str, ...]:
    """Return the model types whose configs an architecture reads."""
    return architecture_class(name).fields.model_types


def torch_classes(name: str) -> Iterable[str]:
    """Return the torch classes whose configs an architecture reads."""
    return architecture_class(name).fields.classes


@cache
def presets() -> dict[str, dict[str, Any]]:
    """Return all presets by name: architecture, options, sizes and the source of the sizes.

    For a model on the Hub, ``hub`` is its id, and ``also`` has the ids of models of the same sizes that its authors
    derived from it. If an exact number of parameters is published, ``params`` has the number and who published it.
    """
    loaded: dict[str, dict[str, Any]] = json.loads((files(__name__) / "presets.json").read_text("utf-8"))
    return loaded


def presets_of(name: str) -> list[str]:
    """Return the presets of an architecture, in the order of the data file. Examples use the first."""
    return [preset for preset, facts in presets().items() if facts["architecture"] == name]


def presets_like(component: Architecture) -> list[str]:
    """Return the presets with the same architecture and options, which have the same formulas."""
    found = []
    for name in presets_of(component.name):
        base, options = architecture_class(component.name), presets()[name].get("options", {})
        if _component(base, base.options_from(options)) == component:
            found.append(name)
    return found


@cache
def _repositories() -> dict[str, str]:
    """Return the preset of each repository on the Hub, by its id in lower case: ids on the Hub ignore case."""
    named = {preset: [facts.get("hub", ""), *facts.get("also", ())] for preset, facts in presets().items()}
    return {repository.lower(): preset for preset, ids in named.items() for repository in ids if repository}


def preset_on_hub(repository: str) -> str | None:
    """Return the preset with the sizes of a repository on the Hub, or None.

    >>> preset_on_hub("Qwen/Qwen3-30B-A3B"), preset_on_hub("meta-llama/Llama-2-70b-chat-hf")
    ('qwen3-30b-a3b', 'llama-2-70b')
    """
    return _repositories().get(repository.lower())


def architecture(name: str, /, **options: Any) -> Model:
    """Return the model of an architecture or a preset by name.

    A preset has sizes. An architecture has none, unless there is a preset of the same name.

    Parameters
    ----------
    name
        The name of an architecture or a preset.
    **options
        Options of the architecture, such as ``tied=False``.

    Returns
    -------
    Model
        The model, with the sizes of the preset if the name is one.

    Raises
    ------
    UnknownNameError
        If the name or an option is unknown.
    OptionError
        If an option does not have that value.
    TargetError
        If the name is not a string.

    Examples
    --------
    >>> architecture("gpt2-xl").params.value()
    1557611200
    >>> architecture("gpt2", tied=False).params
    12*L*E**2 + 13*L*E + 2*V*E + P*E + 2*E

    """
    if not isinstance(name, str):
        raise TargetError(
            f"{format_value(name)} is not the name of an architecture; pass a config to symformer.from_config"
        )
    facts = presets().get(name)
    if not known(name):
        raise UnknownNameError("architecture or preset", name, [*all_names(), *presets()])
    base = architecture_class(facts["architecture"] if facts else name)
    chosen = base.options_from({**(facts.get("options", {}) if facts else {}), **options})
    sizes = {named_symbol(size): number for size, number in facts["sizes"].items()} if facts else {}
    own = _component(base, base.options_from(facts.get("options", {}) if facts else {})).changed_options
    model = _stated(_model(name, _component(base, chosen), sizes), own)
    if not facts:
        return model
    # The positions are those of its config.json, as stored in ai-dynamo/aiconfigurator at commit 095f58a51.
    stated = {name: facts[name] for name in ("weights", "rope", "positions") if name in facts}
    order = base.fields.layer_order_at(model.known, facts.get("layers", {}))
    return replace(model, provenance=replace(model.provenance, layers=order, **stated))


def from_config(config: AnyTarget, /, **options: Any) -> Model:
    """Return the model that a config describes.

    Parameters
    ----------
    config
        The path of a ``config.json`` or of its folder; the id of a model on the Hub; a mapping with the fields of a
        ``config.json``; a config object of transformers; or a model of transformers, which has one.
    **options
        Options of the architecture, which replace what the config states.

    Returns
    -------
    Model
        The model of the built-in architecture that reads the config.

    Raises
    ------
    ConfigError
        If the config cannot be read exactly: UnreadError if no built-in architecture reads it, FetchError if the Hub
        has none.
    OptionError, TargetError
        If the architecture does not have an option, or an object is not a config.

    Examples
    --------
    >>> from_config({"model_type": "gpt2", "n_layer": 48, "n_embd": 1600, "n_head": 25}).params.value()
    1557611200

    """
    named = parse(config)
    if isinstance(config, str):
        return model_from_config(config, config_of(named, config), **options)
    if named.kind is not TargetKind.CONFIG:
        raise TargetError(
            f"{named} is {named.kind.value}, not a config; pass a path, an id on the Hub, a mapping, a config object "
            "or a model of transformers to from_config, and anything else to symformer.model"
        )
    return of_target(named, config_of(named, named.text), **options)


def of_target(target: Target, found: OpenedConfig, /, **options: Any) -> Model:
    """Return the model of a target whose config is open; of a module of transformers, if it stores as much.

    Raises ConfigError, UnreadError, OptionError, WitnessError.
    """
    model = model_from_config(target.config_name, found, **options)
    return model if target.built is None or options else check_stored(model, target.built, target.config_name)


def model_from_config(path: str, found: OpenedConfig, /, **options: Any) -> Model:
    """Return the model of a config that is already open. Raises ConfigError, UnreadError, OptionError."""
    config = found.config
    try:
        name, rests = reader(path, config, registry.files, model_types, torch_classes)
    except ConfigError:
        registered = (each for each in registry.plugins.names() if config.get("model_type") in model_types(each))
        if not (name := next(registered, "")):
            raise
        rests = ""
    base = architecture_class(name)
    try:
        read, numbers = base.fields.read(config)
    except ConfigError as error:
        raise type(error)(f"{path}: {error}") from None
    component, own = (_component(base, base.options_from(each)) for each in ({**read, **options}, read))
    assumed = [
        rests,
        "" if config.get("architectures") else f"no 'architectures' field, so read as {base.fields.class_for(own)}",
    ]
    model = _stated(_model(path, component, numbers), own.changed_options)
    known = replace(
        model.provenance,
        **found.facts,
        assumed=tuple(filter(None, assumed)),
        layers=base.fields.layer_order(config),
    )
    return replace(model, provenance=known)


def composed_model(target: Model | AnyTarget, /, **options: Any) -> Model:
    """Return a built-in model: an architecture, a preset, a component or a config. A model is returned unchanged.

    Raises TargetError for a target of another kind and for an object that is not a target.
    """
    if isinstance(target, Model):
        if options:
            raise OptionError(f"{next(iter(options))} is an option of a target, but {target.target} is already a model")
        return target
    named = parse(target)
    match named.kind:
        case TargetKind.NAME if known(named.name) or not os.path.isdir(named.name):
            return architecture(named.name, **options)
        case TargetKind.CONFIG | TargetKind.NAME | TargetKind.HUB:
            return of_target(named, config_of(named, named.config_name), **options)
        case TargetKind.COMPONENT:
            return component_model(named, **options)
    raise TargetError(named.refusal)


def component_model(target: Target, /, **options: Any) -> Model:
    """Return the model of a component. Raises UnknownNameError, OptionError."""
    part = components.component(target.name, **options)
    return Model(target=target.text, component=part, relations=dict(part.relations), read_numbers=composed_model)


def _component(base: type[Architecture], options: Mapping[str, Any]) -> Architecture:
    """Return the component of a class with these options, from a cache, so that its ledger is built once."""
    return cached_component(base, tuple(options.items()))


@lru_cache(maxsize=256, typed=True)
def cached_component(base: type[Architecture], options: tuple[tuple[str, Any], ...]) -> Architecture:
    """Return a component, cached. Code that changes how parts write their ledgers must clear this cache."""
    return base(**dict(options))


def _model(target: str, component: Architecture, sizes: Numbers) -> Model:
    """Return the model of a component at these sizes, except for sizes that exist only with other options."""
    places = Provenance(places=_places(component.fields) | _depths(component))
    relations = dict(component.relations)
    model = Model(
        target=target, component=component, relations=relations, provenance=places, read_numbers=composed_model
    )
    other = component.fields.sizes.keys() - model.settable
    return model.set({size: Integer(number) for size, number in sizes.items() if size not in other})


def _places(fields: Fields) -> dict[str, ConfigLocation]:
    """Return the config field of each size, by letter, with its current name."""
    found = {
        size.name: ConfigLocation(
            place.names[0],
            less=fields.sizes[place.beside].names[0] if place.beside else "",
            of=place.part_of,
            rule=place.rule,
            twins=place.twins,
            null=place.default if isinstance(place, Field) and place.null and isinstance(place.default, Expr) else None,
        )
        for size, place in fields.sizes.items()
    }
    if fields.layers:
        found |= {
            size.name: ConfigLocation(name, counted=entries, rule=rule)
            for size, (name, entries, rule) in fields.layers.places_of_kinds.items()
        }
    return found


def _depths(component: Architecture) -> dict[str, ConfigLocation]:
    """Return the config field of the total number of layers, for models with several layer kinds."""
    fields = component.fields
    names = {**fields.layers.depths} if fields.layers else {}
    for place in fields.sizes.values():
        if place.beside is not None:
            names.setdefault(L, place.names[0])
    return {total.name: ConfigLocation(names[total]) for total in component.totals if total in names}


def _stated(model: Model, options: Mapping[str, str]) -> Model:
    """Return the model with its current sizes, relations and options recorded in its provenance as its own."""
    own = replace(model.provenance, numbers=model.known, relations=model.relations, options=options)
    return replace(model, provenance=own)


def variants(model: Model) -> list[Model]:
    """Return the model at the same sizes for every variant of the architecture, the default first."""
    component = model.component
    return [variant(model, options) for options in component.variants] if isinstance(component, Architecture) else []


def variant(model: Model, options: Mapping[str, Any]) -> Model:
    """Return the model at the same sizes with other options."""
    return replace(model, component=type(model.component)(**options))
