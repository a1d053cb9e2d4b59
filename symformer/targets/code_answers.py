"""Answer a target from the code of its class: from the catalogue, from the cache on disk, else by tracing it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ..language.errors import (
    CatalogueError,
    ConfigError,
    OptionError,
    SizeError,
    UnknownNameError,
    UnreadError,
    WitnessError,
    quoted,
)
from ..language.target import Target
from ..models.model import Model
from ..output.status_line import status_line

if TYPE_CHECKING:
    from ..catalogue.record import Find, Record

TIED = "tie_word_embeddings"


def untraced(target: object) -> WitnessError:
    """Return the error for a target that only tracing answers, if tracing is disabled."""
    return WitnessError(f"{target} can only be answered by tracing, and tracing is disabled")


def of_type(target: Target, options: Mapping[str, Any], trace: bool) -> Model:
    """Return the model of a transformers model type, without sizes. Raises WitnessError, UnknownNameError."""
    from ..catalogue import config_match, entries

    if options:
        switched = _switched({"model_type": target.name}, options)
        return _tying(_model_of(target.text, switched, config_match.find(switched), trace), switched, options)
    shelved = entries.of_type(target.name)
    if shelved is None:
        if not trace:
            raise untraced(target)
        from .. import witness

        return witness.trace(target.text).model
    find, config = shelved
    return _model_of(target.text, config, find, trace)


def of_code(
    path: str, config: Mapping[str, Any], options: Mapping[str, Any], unread: UnreadError, trace: bool
) -> Model:
    """Return the model of a config without a built-in architecture, from the code of its class. Raises ConfigError."""
    from ..catalogue import config_match

    if "model_type" not in config:  # a diffusers config
        return _of_diffusers(path, config, options, trace)
    config = _switched(config, options)
    try:
        return _tying(_model_of(path, config, config_match.find(config), trace), config, options)
    except SizeError as error:
        raise ConfigError(f"{path}: {error}") from None
    except (ConfigError, WitnessError) as error:
        why = str(error).removeprefix(f"{path}: ").replace(f"{path} ", "the config ", 1)
        if unread.hint:  # a misspelt type, for which the error of transformers has a hint too
            why = why.partition("; did you mean")[0]
        known = "; ".join(filter(None, [unread.stated, config_match.refusal_reason(config)]))
        raise UnreadError(f"{known}; tracing its torch code also failed: {why}", unread.hint) from None


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
            raise untraced(path)
        try:
            traced = trace_diffusion(path, config)
        except ConfigError as error:
            raise UnreadError(str(error) if str(error).startswith(path) else f"{path}: {error}") from None
        except WitnessError as error:
            why = str(error).removeprefix(f"{path}: ").replace(f"{path} ", "the config ", 1)
            raise UnreadError(
                f"{path}: {diffusers_models.refusal_reason(config)}; tracing it also failed: {why}"
            ) from None
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
    from ..catalogue.record import model_of_records

    if not options:
        return model
    other = (
        config_match.find(_switched(config, {"tied": not config[TIED]})) if model.provenance.by == "catalogue" else None
    )
    same = other is not None and model_of_records(model.target, other).params.value() == model.params.value()
    reading = model.provenance.reading
    if same or (reading is not None and any(each.startswith(f"{TIED}=") for each in reading.ignored)):
        raise OptionError(f"tied={options['tied']} has no effect: {model.title.removesuffix(', traced')} ignores it")
    return model


def _model_of(path: str, config: Mapping[str, Any], shelved: Find | None, trace: bool) -> Model:
    """Return the model of a config whose catalogue records, if any, are known."""
    from ..catalogue.record import model_of_records

    return model_of_records(path, _found(path, config, shelved, trace), shelved)


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
        unfiled = ""
        if shelved is not None:
            try:
                return shelved(quantity)
            except CatalogueError as error:  # a quantity that is not in the catalogue
                unfiled = str(error)
        store = Store(asked)
        found = store.find(quantity)
        if found is None and not trace:
            raise untraced(path)
        if found is None:
            try:
                with status_line(f"tracing the torch code of {path} for {quantity}"):
                    found = live()(quantity)
            except WitnessError as error:
                why = str(error)
                if unfiled:  # the trace usually fails for the reason that the catalogue states
                    why = unfiled if why in unfiled else f"{unfiled}; tracing its torch code also failed: {why}"
                raise WitnessError(why) from None
            store.keep(quantity, found)
        held[quantity] = found
        for other in (OPERATIONS, *MEASURED):
            if other not in held and (before := store.find(other)) is not None:
                held[other] = before
        check_agreement(path, held, quantity)
        return found

    return find
