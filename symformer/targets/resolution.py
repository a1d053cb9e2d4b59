"""Build the model that a target names. The kind of a target is decided in ``language/target.py``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from .. import architectures, components
from ..configs.config_source import OpenedConfig, open_config
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
from ..language.target import COMPONENT, AnyTarget, Target, TargetKind, is_module, parse
from ..ledger.adapters import CHANGES
from ..models.model import Model
from ..models.torch_modules import check_stored, takes_sizes
from ..output.status_line import waiting
from ..quantities import quantities as find_quantities
from ..quantities import quantity

if TYPE_CHECKING:
    from ..catalogue.record import Find, Record


TIED = "tie_word_embeddings"


def names() -> list[str]:
    """Return the names of all built-in targets, and of those that other packages register."""
    own = dict.fromkeys(architectures.all_names())
    return [*(own | dict.fromkeys(architectures.presets())), *(COMPONENT + name for name in components.all_names())]


def pairs(arguments: Iterable[str]) -> dict[str, str]:
    """Return KEY=VALUE arguments as a dict. Raises OptionError for any other form and for a key given twice."""
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
    target: AnyTarget,
    options: Mapping[str, Any] | None = None,
    sets: Iterable[str] = (),
    quantities: Iterable[str] = (),
    trace: bool = True,
) -> tuple[Model, dict[str, str]]:
    """Return the model that a target names, with its options and sizes set, and the conventions among the options.

    Parameters
    ----------
    target
        Any form that :func:`model` accepts.
    options
        Options of the model and conventions of the quantities.
    sets
        Sizes as NAME=VALUE arguments.
    quantities
        The names of the quantities whose conventions may be among the options.
    trace
        If False, torch is never imported: a target that is not built in, in the catalogue or in the cache raises
        WitnessError.

    Raises
    ------
    SymformerError
        A subclass, for unknown names and for options and sizes that the model does not have.

    """
    named = parse(target)
    given = dict(options or {})
    quantities = list(quantities)
    known = dict.fromkeys(name for question in quantities for name in quantity(question).choices)
    conventions = {name: given.pop(name) for name in list(given) if name in known}
    try:
        model = _model(named, given, sets, trace)
    except UnknownNameError as error:
        if error.what != "option":
            raise
        if error.name in CHANGES:
            raise OptionError(
                f"{error.name} needs a complete built-in model whose linear layers get the adapters, and {named} "
                f"is {named.kind.value}; name an architecture, a preset, or the "
                "config.json of one"
            ) from None
        where = [name for name in find_quantities() if error.name in quantity(name).conventions]
        hint = ""
        if where:
            hint = "; ".join(f"{name} has the options {listed(quantity(name).choices)}" for name in quantities)
            hint += f"{'; ' * bool(hint)}{error.name} is a convention of {listed(where)}"
            hint += "" if quantities and quantities != ["params"] else ": name the quantity with -q"
        offered = [] if hint else [*error.known, *known]
        raise UnknownNameError(f"option of {named}", error.name, offered, hint) from None
    for name in quantities:
        model = model.sized(name, {key: conventions[key] for key in conventions if key in quantity(name).choices})
    if named.kind is TargetKind.FACTORY:  # its arguments are its sizes
        return model.checked(), conventions
    return (model.set(assignments(sets)) if sets else model.checked()), conventions


def model(target: AnyTarget, /, **options: Any) -> Model:
    """Return the model that a target names: built in, else from the catalogue, else traced from its torch code.

    Parameters
    ----------
    target
        An architecture, a preset, the path of a config.json or of its folder, an id on the Hub, component:NAME,
        hf:MODEL_TYPE or package.module:factory; a ``pathlib.Path``; a mapping with the fields of a config.json; a
        config object of transformers (``AutoConfig``, ``PretrainedConfig``), which is read as the config.json that it
        would save; a model of symformer, returned unchanged; a function or an ``nn.Module`` class that builds a module
        from sizes; or a module, also on the meta device. A module of transformers is the model of its config; the
        parameters of any other module are numbers, one row for each.
    **options
        Options of the model, such as ``tied=False``; for a function or a class, its sizes, such as ``width=64``.

    Returns
    -------
    Model
        The model, whose formulas are functions of its sizes.

    Raises
    ------
    UnknownNameError, ConfigError, OptionError
        If the target or an option is unknown, or the config cannot be read exactly.
    TargetError
        If an object is not a target; the message lists what is.
    WitnessError
        If tracing finds no formula, or a module was changed after it was built from its config.

    Examples
    --------
    >>> model("llama-2-7b").params.value()
    6738415616
    >>> model({"model_type": "gpt2", "n_layer": 48, "n_embd": 1600, "n_head": 25}).params.value()
    1557611200

    """
    return architectures.composed(target, **options) if isinstance(target, Model) else resolve(target, options)[0]


def _model(target: Target, options: Mapping[str, Any], sets: Iterable[str], trace: bool) -> Model:
    match target.kind:
        case TargetKind.MODULE:
            return _of_module(target.text, target.built, options)
        case TargetKind.FACTORY:
            return _of_factory(target, options, sets, trace)
        case TargetKind.HF:
            return _of_type(target, options, trace)
        case TargetKind.CONFIG:
            return _of_config(target, options, trace)
        case TargetKind.NAME if not architectures.known(target.name):
            if os.path.isdir(target.name):
                return _of_config(target, options, trace)
            hint = "`symformer list` shows them all; for any other model, give its config.json or hf:MODEL_TYPE"
            if os.path.lexists(target.name):
                hint = f"to read the file, write ./{target.name}"
            raise UnknownNameError("target", target.name, names(), hint)
        case TargetKind.HUB:
            try:
                return _of_config(target, options, trace)
            except FetchError as error:
                raise FetchError(f"{error}{_of_that_name(target)}") from None
    return architectures.composed(target.text, **options)


def _untraced(target: object) -> WitnessError:
    return WitnessError(f"{target} can only be answered by tracing, and tracing is disabled")


def _of_factory(target: Target, options: Mapping[str, Any], sets: Iterable[str], trace: bool) -> Model:
    """Return the model of a user's factory, whose arguments are the sizes, or of a module that has none.

    Raises OptionError, WitnessError.
    """
    from .. import witness

    if not trace:
        raise _untraced(target)
    start = {name: whole(name, size(value)) for name, value in pairs(sets).items()}
    for name, value in options.items():
        if isinstance(value, str | bool) or name in start:  # sizes are numbers in Python, and --set on the command line
            raise OptionError(f"{name}={value} is not a size of {target}; a factory has no options, only sizes")
        start[name] = whole(name, value)
    factory = target.built if target.built is not None else witness.imported(target.text)
    if is_module(factory):
        own = parse(factory)
        if start:
            raise OptionError(f"{target} is a module, not a factory, so it has no size {next(iter(start))}; remove it")
        return _of_config(own, {}, trace) if own.kind is TargetKind.CONFIG else _of_module(target.text, factory, {})
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


def _of_type(target: Target, options: Mapping[str, Any], trace: bool) -> Model:
    """Return the model of a transformers model type, without sizes. Raises WitnessError, UnknownNameError."""
    from ..catalogue import config_match, entries
    from ..catalogue.record import opened

    if options:
        switched = _switched({"model_type": target.name}, options)
        return _tying(
            opened(target.text, _found(target.text, switched, config_match.find(switched), trace)), switched, options
        )
    shelved = entries.of_type(target.name)
    if shelved is None:
        if not trace:
            raise _untraced(target)
        from .. import witness

        return witness.trace(target.text).model
    find, config = shelved
    return opened(target.text, _found(target.text, config, find, trace))


def _of_config(target: Target, options: Mapping[str, Any], trace: bool) -> Model:
    """Return the model of a config: built in, or from the code of its class. Raises ConfigError, FetchError."""
    path = target.text if target.kind is TargetKind.HUB else target.name
    found = open_config(path if target.config is None else target.config)
    try:
        model = architectures.of_config(path, found, **options)
    except UnreadError as error:
        known = _without_unread(path, found, options)
        model = known if known is not None else _read_off(path, found.config, options, error, trace)
        model = replace(model, provenance=replace(model.provenance, **found.facts))
    return model if target.built is None or options else check_stored(model, target.built, path)


def _without_unread(path: str, found: OpenedConfig, options: Mapping[str, Any]) -> Model | None:
    """Return the built-in model of a config without the fields that its class does not read, or None."""
    from ..catalogue import config_match

    if not (names := config_match.unread(found.config)):
        return None
    config = {name: value for name, value in found.config.items() if name not in names}
    try:
        model = architectures.of_config(path, replace(found, config=config), **options)
    except UnreadError:
        return None
    ignored = f"ignored, because the class does not read {'it' if len(names) == 1 else 'them'}: {', '.join(names)}"
    known = model.provenance
    return replace(model, provenance=replace(known, assumed=(*known.assumed, ignored)))


def _read_off(
    path: str, config: Mapping[str, Any], options: Mapping[str, Any], unread: UnreadError, trace: bool
) -> Model:
    """Return the model of a config without a built-in architecture, from the code of its class. Raises ConfigError."""
    from ..catalogue import config_match
    from ..catalogue.record import opened

    if "model_type" not in config:  # a diffusers config
        return _of_diffusers(path, config, options, trace)
    config = _switched(config, options)
    find = _found(path, config, config_match.find(config), trace)
    try:
        return _tying(opened(path, find), config, options)
    except SizeError as error:
        raise ConfigError(f"{path}: {error}") from None
    except (ConfigError, WitnessError) as error:
        why = str(error).removeprefix(f"{path}: ").removeprefix(f"{path} ")
        known = "; ".join(filter(None, [str(unread), config_match.why_not(config)]))
        raise UnreadError(f"{known}; tracing its torch code also failed: {why}") from None


def _of_diffusers(path: str, config: Mapping[str, Any], options: Mapping[str, Any], trace: bool) -> Model:
    """Return the model of a diffusers config: from the catalogue, else by building its class, which is kept on disk.

    Raises UnreadError, UnknownNameError.
    """
    from ..catalogue import diffusers_models
    from ..catalogue.disk_cache import LIBRARIES, Store
    from ..catalogue.measured_model import DIFFUSERS, STORED
    from ..catalogue.record import stored_model, stored_record

    if options:
        raise UnknownNameError("option", next(iter(options)), ())
    try:
        if (shelved := diffusers_models.find(config, path)) is not None:
            return stored_model(path, shelved)
    except ConfigError as error:
        raise UnreadError(str(error)) from None
    store = Store(config, (*LIBRARIES, DIFFUSERS))
    record = store.find(STORED)
    if record is None:
        from ..witness import trace_diffusion

        if not trace:
            raise _untraced(path)
        try:
            traced = trace_diffusion(path, config)
        except ConfigError as error:
            raise UnreadError(str(error) if str(error).startswith(path) else f"{path}: {error}") from None
        except WitnessError as error:
            why = str(error).removeprefix(f"{path}: ").removeprefix(f"{path} ")
            raise UnreadError(f"{path}: {diffusers_models.why_not(config)}; tracing it also failed: {why}") from None
        record = stored_record(traced.model, traced.letters)
        store.keep(STORED, record)
    return stored_model(path, record)


def _switched(config: Mapping[str, Any], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the config with ``tied`` set, the only option that every model of transformers may have.

    Raises UnknownNameError, OptionError.
    """
    if other := next((name for name in options if name != "tied"), ""):
        raise UnknownNameError("option", other, ["tied"])
    if "tied" not in options:
        return config
    tied = {"true": True, "false": False}.get(str(options["tied"]).lower())
    if tied is None:
        raise OptionError(f"tied={quoted(str(options['tied']))} is not true or false")
    texts = config.get("text_config")
    part = {"text_config": {**texts, TIED: tied}} if isinstance(texts, Mapping) else {}
    return {**config, **part, TIED: tied}


def _tying(model: Model, config: Mapping[str, Any], options: Mapping[str, Any]) -> Model:
    """Return the model. Raises OptionError if the given option does not change what it stores."""
    from ..catalogue import config_match
    from ..catalogue.record import opened

    if not options:
        return model
    other = (
        config_match.find(_switched(config, {"tied": not config[TIED]})) if model.provenance.by == "catalogue" else None
    )
    same = other is not None and opened(model.target, other).params.value() == model.params.value()
    reading = model.provenance.reading
    if same or (reading is not None and any(each.startswith(f"{TIED}=") for each in reading.ignored)):
        raise OptionError(f"tied={options['tied']} has no effect: {model.title.removesuffix(', traced')} ignores it")
    return model


def _found(path: str, config: Mapping[str, Any], shelved: Find | None, trace: bool) -> Find:
    """Return a function that finds a quantity of a config: in the catalogue, in the cache, else by tracing."""
    from ..catalogue.agreement import check_agreement
    from ..catalogue.disk_cache import Store
    from ..catalogue.entries import HEAD
    from ..catalogue.measured_model import MEASURED, STORED
    from ..catalogue.record import OPERATIONS

    known = shelved(STORED).config if shelved is not None else {}
    # A trace uses the sizes of the catalogue, including the head dimension if the class defines it in code only.
    asked = {HEAD: known[HEAD], **config} if HEAD in known else config

    @cache
    def live() -> Find:
        from ..witness import records

        return records(path, asked)

    held: dict[str, Record] = {}

    @cache
    def find(quantity: str) -> Record:
        why = ""
        if shelved is not None:
            try:
                return shelved(quantity)
            except CatalogueError as error:  # a quantity that is not in the catalogue
                why = f"{error}; "
        store = Store(asked)
        found = store.find(quantity)
        if found is None and not trace:
            raise _untraced(path)
        if found is None:
            try:
                with waiting(f"tracing the torch code of {path} for {quantity}"):
                    found = live()(quantity)
            except WitnessError as error:
                raise WitnessError(f"{why}{error}") from None
            store.keep(quantity, found)
        held[quantity] = found
        for other in (OPERATIONS, *MEASURED):
            if other not in held and (before := store.find(other)) is not None:
                held[other] = before
        check_agreement(path, held, quantity)
        return found

    return find


def _of_that_name(target: Target) -> str:
    """Return a hint that names the preset of a Hub repository, by its id or by a similar name."""
    from difflib import get_close_matches

    if preset := architectures.preset_on_hub(target.name):
        return f"; its sizes are built in as the preset {preset}: symformer show {preset}"
    called = target.name.rpartition("/")[2].lower()
    near = get_close_matches(called, [*architectures.presets(), *architectures.names()], n=1, cutoff=0.75)
    if called in near:
        return f"; {called} is built in: symformer show {called}"
    return f"; the preset with the nearest name is {near[0]}" if near else ""
