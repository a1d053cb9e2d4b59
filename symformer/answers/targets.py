"""Targets opened: what a user names, turned into a model. What kind a name is, language/target.py decides."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from .. import architectures, components
from ..configs.opening import open_config
from ..language.arithmetic import size
from ..language.errors import (
    CatalogueError,
    ConfigError,
    FetchError,
    OptionError,
    SizeError,
    UnknownNameError,
    UnreadError,
    WitnessError,
    listed,
    quoted,
)
from ..language.sizes import assignments, whole
from ..language.target import COMPONENT, Kind, Target, parse
from ..ledger.adapters import CHANGES
from ..models.model import Model
from ..quantities import quantities as find_quantities
from ..quantities import quantity

if TYPE_CHECKING:
    from ..catalogue.record import Find, Record


def names() -> list[str]:
    """Every name a target can have."""
    presets = [name for name in architectures.presets() if name not in architectures.names()]
    return [*architectures.names(), *presets, *(COMPONENT + name for name in components.names())]


def pairs(arguments: Iterable[str]) -> dict[str, str]:
    """KEY=VALUE arguments, as ``--option`` takes them. Raises OptionError: not of this form, or a key given twice."""
    found: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = map(str.strip, argument.partition("="))
        if not equals or not name or not value:
            raise OptionError(f"{quoted(argument)} is not of the form KEY=VALUE, such as tied=false")
        if name in found:
            raise OptionError(f"{name} is given twice, as {quoted(found[name])} and as {quoted(value)}; keep one")
        found[name] = value
    return found


def resolve(
    target: str, options: Mapping[str, Any] | None = None, sets: Iterable[str] = (), quantities: Iterable[str] = ()
) -> tuple[Model, dict[str, str]]:
    """The model a target names, its options and sizes set, and the conventions among the options.

    Raises SymformerError of the kind that fits: unknown names, options and sizes that it does not take.
    """
    given = dict(options or {})
    known = dict.fromkeys(name for question in quantities for name in quantity(question).choices)
    conventions = {name: given.pop(name) for name in list(given) if name in known}
    try:
        model = _model(parse(target), given, sets)
    except UnknownNameError as error:
        if error.what != "option":
            raise
        if error.name in CHANGES:
            raise OptionError(
                f"{error.name} asks for adapters, which are written beside the linear layers of a whole model that is "
                f"composed here, and {target} is {parse(target).kind.value}; name an architecture, a preset, or the "
                "config.json of one"
            ) from None
        where = [name for name in find_quantities() if error.name in quantity(name).conventions]
        hint = f"{error.name} is a convention of {listed(where)}: name the quantity with -q" if where else ""
        offered = [] if hint else [*error.known, *known]
        raise UnknownNameError(f"option of {target}", error.name, offered, hint) from None
    for name in quantities:
        model = model.sized(name)
    if parse(target).kind is Kind.FACTORY:  # whose sizes are its arguments
        return model.checked(), conventions
    return (model.set(assignments(sets)) if sets else model.checked()), conventions


def model(target: str, /, **options: Any) -> Model:
    """The model that a target names: composed here, else from the catalogue, else read off its own code by torch.

    A target is an architecture, a preset, a config.json, an id on the Hub, component:NAME or hf:MODEL_TYPE. Raises
    UnknownNameError, ConfigError, OptionError, TargetError, and WitnessError for code that gives no formula.

    >>> model("llama-2-7b").params.value()
    6738415616
    """
    return resolve(target, options)[0]


def _model(target: Target, options: Mapping[str, Any], sets: Iterable[str]) -> Model:
    match target.kind:
        case Kind.FACTORY:
            return _of_factory(target, options, sets)
        case Kind.HF:
            if options:
                raise UnknownNameError("option", next(iter(options)), ())
            return _of_type(target)
        case Kind.CONFIG:
            return _of_config(target, options)
        case Kind.NAME if target.name not in architectures.names() and target.name not in architectures.presets():
            if os.path.isdir(target.name):
                return _of_config(target, options)
            hint = (
                "`symformer list` has them all; another model is read from its config.json, or traced as hf:MODEL_TYPE"
            )
            if os.path.lexists(target.name):
                hint = f"to read the file write ./{target.name}"
            raise UnknownNameError("target", target.name, names(), hint)
        case Kind.HUB:
            try:
                return _of_config(target, options)
            except FetchError as error:
                raise FetchError(f"{error}{_of_that_name(target)}") from None
    return architectures.composed(target.text, **options)


def _of_factory(target: Target, options: Mapping[str, Any], sets: Iterable[str]) -> Model:
    """The model of a factory of one's own, at the sizes that are its arguments. Raises OptionError, WitnessError."""
    from ..witness import trace

    if options:
        raise UnknownNameError("option", next(iter(options)), ())
    start = {name: whole(name, size(value)) for name, value in pairs(sets).items()}
    if not start:
        raise OptionError(f"{target} is a factory, and takes a size for each of its arguments, such as --set E=64")
    traced = trace(target.text, start)
    return traced.model.set({letter: start[name] for letter, name in traced.symbols.items() if name in start})


def _of_type(target: Target) -> Model:
    """The model of a model type of transformers with no sizes of its own. Raises WitnessError, UnknownNameError."""
    from ..catalogue import shelf
    from ..catalogue.record import opened
    from ..witness import trace

    shelved = shelf.of_type(target.name)
    if shelved is None:
        return trace(target.text).model
    find, config = shelved
    return opened(target.text, _found(target.text, config, find))


def _of_config(target: Target, options: Mapping[str, Any]) -> Model:
    """The model of a config: composed here, or read off the code of its class. Raises ConfigError, FetchError."""
    path = target.text if target.kind is Kind.HUB else target.name
    found = open_config(path)
    try:
        return architectures.of_config(path, found, **options)
    except UnreadError as error:
        model = _read_off(path, found.config, options, error)
    return replace(model, provenance=replace(model.provenance, commit=found.commit, unasked=found.unasked))


def _read_off(path: str, config: Mapping[str, Any], options: Mapping[str, Any], unread: UnreadError) -> Model:
    """The model of a config that nothing composed here reads, off the code of its class. Raises ConfigError."""
    from ..catalogue import matching
    from ..catalogue.record import opened

    if "model_type" not in config:  # of diffusers, whose classes are not read off their code
        raise unread
    if options:
        raise UnknownNameError("option", next(iter(options)), ())
    find = _found(path, config, matching.find(config))
    try:
        return opened(path, find)
    except SizeError as error:
        raise ConfigError(f"{path}: {error}") from None
    except (ConfigError, WitnessError) as error:
        why = str(error).removeprefix(f"{path}: ").removeprefix(f"{path} ")
        known = "; ".join(filter(None, [str(unread), matching.why_not(config)]))
        raise UnreadError(f"{known}; nor can it be read off its torch code: {why}") from None


def _found(path: str, config: Mapping[str, Any], shelved: Find | None) -> Find:
    """What is known of a config by quantity: from the catalogue, from what was kept before, else off its code."""
    from ..catalogue.shelf import HEAD
    from ..catalogue.store import Store
    from ..catalogue.traced import STORED

    known = shelved(STORED).config if shelved is not None else {}
    # What is read off the code has the sizes that the catalogue has, this one too where a class leaves it to its code.
    asked = {HEAD: known[HEAD], **config} if HEAD in known else config

    @cache
    def live() -> Find:
        from ..witness import records

        return records(path, asked)

    @cache
    def find(quantity: str) -> Record:
        why = ""
        if shelved is not None:
            try:
                return shelved(quantity)
            except CatalogueError as error:  # a quantity that it knows nothing of
                why = f"{error}; "
        store = Store(asked)
        found = store.find(quantity)
        if found is None:
            try:
                found = live()(quantity)
            except WitnessError as error:
                raise WitnessError(f"{why}{error}") from None
            store.keep(quantity, found)
        return found

    return find


def _of_that_name(target: Target) -> str:
    """The preset that has the sizes of a repository of the Hub, or is called as it is, or nearly so."""
    from difflib import get_close_matches

    if preset := architectures.preset_on_hub(target.name):
        return f"; its sizes are here as {preset}: symformer show {preset}"
    called = target.name.rpartition("/")[2].lower()
    near = get_close_matches(called, [*architectures.presets(), *architectures.names()], n=1, cutoff=0.75)
    if called in near:
        return f"; {called} is here by that name: symformer show {called}"
    return f"; the preset with the nearest name is {near[0]}" if near else ""
