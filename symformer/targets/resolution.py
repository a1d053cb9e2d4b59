"""Resolve a target to its model: parse the target, open it, answer it with a model, and set its sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import architectures
from ..language.arithmetic import size
from ..language.errors import OptionError, SymformerError, UnknownNameError, listed, quoted
from ..language.sizes import assignments, whole
from ..language.target import AnyTarget, Target, TargetKind, parse
from ..ledger.adapters import CHANGES
from ..models.model import Model
from ..quantities import quantities as find_quantities
from ..quantities import quantity
from ..quantities.spellings import spelled
from .model_answers import answer
from .opened_target import opened


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
    quantities = list(quantities)
    known = {name: choice for question in quantities for name, choice in quantity(question).choices.items()}
    given = spelled(options or {}, known)
    conventions = {name: given.pop(name) for name in list(given) if name in known}
    is_factory = named.kind is TargetKind.FACTORY  # the arguments of a factory are its sizes
    sizes = {name: whole(name, size(value)) for name, value in pairs(sets).items()} if is_factory else {}
    try:
        model = answer(opened(named), given, sizes, trace)
    except UnknownNameError as error:
        if error.what != "option":
            raise
        raise _of_option(named, error, quantities, known) from None
    for name in quantities:
        model = model.with_sizes_for(
            name, {key: conventions[key] for key in conventions if key in quantity(name).choices}
        )
    if is_factory:
        return model.validated(), conventions
    return (model.set(assignments(sets, model.settable)) if sets else model.validated()), conventions


def _of_option(
    target: Target, error: UnknownNameError, quantities: Sequence[str], known: Iterable[str]
) -> SymformerError:
    """Return the error for an option that a target does not have: it may belong to another target or quantity."""
    if error.name in CHANGES:
        return OptionError(
            f"{error.name} needs a complete built-in model whose linear layers get the adapters, and {target} "
            f"is {target.kind.value}; name an architecture, a preset, or the "
            "config.json of one"
        )
    where = [name for name in find_quantities() if error.name in quantity(name).conventions]
    hint = ""
    if where:
        hint = f"it is a convention of {listed(where)}"
        if quantities and quantities != ["params"]:
            hint += "".join(f"; {name} has the conventions {listed(quantity(name).choices)}" for name in quantities)
        else:
            hint += "; select one of these quantities with -q"
    offered = [] if hint else [*error.known, *known]
    return UnknownNameError(f"option of {target}", error.name, offered, hint)


def model(target: Model | AnyTarget, /, **options: Any) -> Model:
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
        If an object is not a target; the message lists the targets.
    WitnessError
        If tracing finds no formula, or a module was changed after it was built from its config.

    Examples
    --------
    >>> model("llama-2-7b").params.value()
    6738415616
    >>> model({"model_type": "gpt2", "n_layer": 48, "n_embd": 1600, "n_head": 25}).params.value()
    1557611200

    """
    return architectures.composed_model(target, **options) if isinstance(target, Model) else resolve(target, options)[0]
