"""Targets: what a user names (an architecture, a preset, a config.json, component:NAME), turned into a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import architectures, components
from .errors import OptionError, SymformerError, UnknownNameError
from .model import Model
from .quantities import quantity
from .sizes import assignments

COMPONENT = "component:"


def names() -> list[str]:
    """Every name a target can have."""
    presets = [name for name in architectures.presets() if name not in architectures.names()]
    return [*architectures.names(), *presets, *(COMPONENT + name for name in components.names())]


def pairs(arguments: Iterable[str]) -> dict[str, str]:
    """KEY=VALUE arguments, as ``--option`` takes them. Raises OptionError."""
    found: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise OptionError(f"{argument!r} is not of the form KEY=VALUE, such as tied=false")
        found[name.strip()] = value.strip()
    return found


def resolve(
    target: str, options: Mapping[str, Any] | None = None, sets: Iterable[str] = (), quantities: Iterable[str] = ()
) -> tuple[Model, dict[str, str]]:
    """The model a target names, its options and sizes set, and the conventions among the options.

    Raises SymformerError of the kind that fits: unknown names, options and sizes that it does not take.
    """
    given = dict(options or {})
    known = {name for question in quantities for name in quantity(question).choices}
    conventions = {name: given.pop(name) for name in list(given) if name in known}
    try:
        model = _model(target, given)
    except UnknownNameError as error:
        if not str(error).startswith("unknown option"):
            raise
        offered = [*_choices(target), *known]
        unknown = next(name for name in given if name not in offered)
        raise UnknownNameError(f"option of {target}", unknown, offered) from None
    return (model.set(assignments(sets)) if sets else model.checked()), conventions


def _model(target: str, options: Mapping[str, Any]) -> Model:
    if target.startswith(COMPONENT):
        part = components.component(target.removeprefix(COMPONENT), **options)
        return Model(target=target, component=part, relations=dict(part.relations))
    if target.startswith("hf:") or (":" in target and "/" not in target):
        if options:
            raise UnknownNameError("option", next(iter(options)), ())
        if not target.startswith("hf:"):
            raise SymformerError(f"{target!r} is a factory; symformer trace reads it, with a --size for each argument")
        from .witness import trace

        return trace(target).model
    if target.endswith(".json") or "/" in target:
        return architectures.from_config(target, **options)
    if target not in architectures.names() and target not in architectures.presets():
        raise UnknownNameError("target", target, names())
    return architectures.architecture(target, **options)


def _choices(target: str) -> list[str]:
    return [] if target.startswith("hf:") else list(type(_model(target, {}).component).choices())
