"""Answer an opened target with its model: built in, from a torch module or a factory, or from the code of its class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import architectures
from ..configs.config_source import OpenedConfig
from ..language.errors import OptionError, UnreadError
from ..language.sizes import whole
from ..language.target import Target, TargetKind, is_module, parse
from ..models.model import Model
from ..models.torch_modules import check_stored, takes_sizes
from .code_answers import of_code, of_type, untraced
from .opened_target import OpenedTarget, opened


def answer(found: OpenedTarget, options: Mapping[str, Any], sizes: Mapping[str, int], trace: bool) -> Model:
    """Return the model of a target: built in, else from the catalogue, else traced from its torch code.

    Parameters
    ----------
    found
        The target, with its config if it has one.
    options
        Options of the model; for a factory, its sizes.
    sizes
        More sizes of a factory.
    trace
        Whether torch may be imported.

    Raises
    ------
    SymformerError
        A subclass, for unknown options and for a target without a formula.

    """
    target = found.target
    if found.config is not None:
        return _of_config(target, found.config, options, trace)
    match target.kind:
        case TargetKind.MODULE:
            return _of_module(target.text, target.built, options)
        case TargetKind.FACTORY:
            return _of_factory(target, options, sizes, trace)
        case TargetKind.HF:
            return of_type(target, options, trace)
        case TargetKind.COMPONENT:
            return architectures.component_model(target, **options)
    return architectures.architecture(target.name, **options)


def _of_config(target: Target, found: OpenedConfig, options: Mapping[str, Any], trace: bool) -> Model:
    """Return the model of a config: built in, or from the code of its class. Raises ConfigError."""
    path = target.config_name
    try:
        model = architectures.model_from_config(path, found, **options)
    except UnreadError as error:
        known = _without_unread(path, found, options)
        model = known if known is not None else of_code(path, found.config, options, error, trace)
        model = replace(model, provenance=replace(model.provenance, **found.facts))
    return model if target.built is None or options else check_stored(model, target.built, path)


def _without_unread(path: str, found: OpenedConfig, options: Mapping[str, Any]) -> Model | None:
    """Return the built-in model of a config without the fields that its class does not read, or None."""
    from ..catalogue import config_match

    if not (names := config_match.unread_fields(found.config)):
        return None
    config = {name: value for name, value in found.config.items() if name not in names}
    try:
        model = architectures.model_from_config(path, replace(found, config=config), **options)
    except UnreadError:
        return None
    fields = "field" if len(names) == 1 else "fields"
    ignored = f"ignored {fields} that the class does not read: {', '.join(names)}"
    known = model.provenance
    return replace(model, provenance=replace(known, assumed=(*known.assumed, ignored)))


def _of_factory(target: Target, options: Mapping[str, Any], sizes: Mapping[str, int], trace: bool) -> Model:
    """Return the model of a user's factory, whose arguments are the sizes, or of a module that has none.

    Raises OptionError, WitnessError.
    """
    from .. import witness

    if not trace:
        raise untraced(target)
    start = dict(sizes)
    for name, value in options.items():
        if isinstance(value, str | bool) or name in start:  # sizes are numbers in Python, and --set on the command line
            raise OptionError(f"{name}={value} is not a size of {target}; a factory has no options, only sizes")
        start[name] = whole(name, value)
    factory = target.built if target.built is not None else witness.imported(target.text)
    if is_module(factory):
        own = parse(factory)
        if start:
            raise OptionError(f"{target} is a module, not a factory, so it has no size {next(iter(start))}; remove it")
        if own.kind is not TargetKind.CONFIG:
            return _of_module(target.text, factory, {})
        return answer(opened(own), {}, {}, trace)
    if not start and not takes_sizes(factory):
        return _of_module(target.text, witness.built(factory, target.text), {})
    traced = witness.trace_factory(factory, start, target.text)
    return traced.model.set({letter: start[name] for letter, name in traced.symbols.items() if name in start})


def _of_module(text: str, module: Any, options: Mapping[str, Any]) -> Model:
    """Return the model of a module with fixed sizes. Raises OptionError, WitnessError."""
    from ..catalogue.module_model import fixed_model

    if options:
        raise OptionError(
            f"{next(iter(options))} is not an option of {text}, a module whose sizes are fixed; pass a function "
            "of sizes that builds it"
        )
    return fixed_model(text, type(module).__name__, module)
