"""The sources of a trace: a model type of transformers, a config.json, or a factory function.

Tracing a factory runs its code. Nothing is downloaded, remote code is never run, and models are built on the meta
device.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from itertools import combinations, count
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from sympy import Symbol
from torch import nn

from ..catalogue.measured_model import STORED, MeasuredModel
from ..catalogue.recognized_model import RecognizedModel
from ..catalogue.record import Find, Record, model_of_records
from ..configs.config_source import OpenedConfig, open_config
from ..language.errors import ConfigError, OptionError, SizeError, TargetError, WitnessError, listed
from ..language.letter_rules import letters_of_fields, other_names
from ..language.sizes import Equals, whole
from ..language.symbols import SYMBOLS, name_size, named_symbol
from ..language.target import HF, AnyTarget, TargetKind, factory_of, parse
from ..models.model import Model
from ..models.provenance import Pinned
from . import trace_diffusion
from .config_integers import ConfigIntegers, whole_numbers
from .error_messages import line_of, sentence
from .interpolation import Point
from .measured_points import Build, Points, session, weights_at
from .model_calls import PIXELS, CallSpec, call_spec, caller_for, caller_of_factory, lengths_of
from .row_samples import LIMIT, Samples
from .run_traces import RUNS, Runner
from .torch_session import silence
from .trace_recognition import lift
from .trace_result import Trace, UnbuiltError
from .tracer import Letters, Tracer
from .transformers_classes import TracedClass, assumption_notes, ignored, is_model_type, near_type, of_config, of_head
from .value_reads import built_with_values, reads_values

# The note on images, by the letter that counts them and by whether image tokens replace text tokens.
IMAGES = {
    ("B_vis", True): "the tokens that stand for images are among the S",
    ("B", True): "each of the B sequences has one image, and the tokens that stand for it are among the S",
    ("B", False): "each of the B sequences has one image",
}
HOW = "; set them with --size in `symformer trace`, and with --set in other commands"
_DEFAULT = "a default of the factory is not traced; give it an initial value to make it a size"


def trace_type(model_type: str, head: str = "") -> Trace:
    """Return the trace of a model type of transformers, from its default config.

    Parameters
    ----------
    model_type
        A model type, such as "gpt2".
    head
        One of causal, seq2seq, masked, image, image-text and base; by default the first of these that the type has.

    Raises
    ------
    WitnessError, UnknownNameError

    """
    traced = trace_source(of_head(model_type, head), {}, HF + model_type)
    records_in(traced, {})  # checks the total against the stored parameters
    return traced


def trace_config(config: AnyTarget, head: str = "") -> Trace:
    """Return the trace of the class that a config names, with the switches set in the config. Raises ConfigError."""
    found, path = open_config(config), config if isinstance(config, str) else parse(config).text
    if "_class_name" in found.config and "model_type" not in found.config:
        return _read_at(trace_diffusion(path, found.config), found)
    source = of_config(found.config, path, head)
    fields = _fields(found.config, path, source)
    traced = trace_source(source, fields, path, ignored(source, fields))
    return _read_at(traced, found)


def _read_at(traced: Trace, found: OpenedConfig) -> Trace:
    """Return the trace with the source of its config and the config's facts in the provenance of every quantity."""
    run = traced.run
    return replace(traced, model=_stating(traced.model, found), run=run and (lambda name: _read_at(run(name), found)))


def _stating(model: Model, found: OpenedConfig) -> Model:
    return replace(model, provenance=replace(model.provenance, **found.facts))


def records(path: str, config: Mapping[str, Any]) -> Find:
    """Return the traced records of the class that a config names, by quantity. Raises like ``trace_config``."""
    source = of_config(config, path)
    return records_of(source, _fields(config, path, source), path, assumption_notes(config, source))


def records_of(source: TracedClass, fields: Mapping[str, Any], target: str, said: tuple[str, ...] = ()) -> Find:
    """Return the traced records of a class at a config with some fields set, by quantity. Raises WitnessError."""
    return records_in(trace_source(source, fields, target, ignored(source, fields)), fields, said)


def records_in(traced: Trace, fields: Mapping[str, Any], said: tuple[str, ...] = ()) -> Find:
    """Return the records of a trace, by quantity, after checking its parameter count at the config against torch.

    Raises WitnessError if the counts differ.
    """
    source, target = cast(TracedClass, traced.source), traced.model.target
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = whole_numbers(source.config(fields))
        stored = _counted(STORED, None, lambda point: source.build(fields), numbers)
    names = other_names(letters_of_fields(numbers))

    def find(quantity: str) -> Record:
        found = traced.for_quantity(quantity)
        component, read = found.model.component, found.model.provenance
        kept = Record(letters=found.letters, places=read.places, reading=read.reading, config=numbers, assumed=said)
        kept = replace(kept, names=names)
        if isinstance(component, RecognizedModel):
            return replace(kept, lifted=component)
        return replace(kept, traced=replace(cast(MeasuredModel, component), measure=None, lifted=None))

    try:
        value = model_of_records(target, find).params.value()
    except SizeError:  # the config violates a condition; evaluating the formula reports it
        return find
    if value != stored:
        raise WitnessError(f"{source.name} stores {stored:,} parameters at {target}, but the formula gives {value:,}")
    return find


def _fields(config: Mapping[str, Any], path: str, source: TracedClass) -> dict[str, Any]:
    """Return the fields for a config class, without its class names and references to remote code."""
    own = source.own(config, path)
    return {name: value for name, value in own.items() if name not in ("auto_map", "architectures")}


def trace_source(
    source: TracedClass,
    fields: Mapping[str, Any],
    target: str,
    inert: tuple[str, ...] = (),
    like: Trace | None = None,
    limit: float = LIMIT,
) -> Trace:
    """Return the trace of a class of transformers at a config with some fields set.

    Parameters
    ----------
    source
        The class to trace.
    fields
        Fields of the config that differ from the defaults.
    target
        The name of the model in messages and formulas.
    inert
        Switches in the config that the class ignores, for the provenance.
    like
        The trace of another structure with the same products, which are reused if both traces have the same sizes.
    limit
        CPU seconds for finding the formula of the stored parameters.

    Raises
    ------
    WitnessError

    """
    import transformers

    cast(Any, transformers.logging).set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            default = source.config(fields)
        except Exception as error:  # any error of the config class: there is no model to trace
            refused = WitnessError if fields else UnbuiltError
            raise refused(f"cannot create the config of {source.model_type}: {sentence(error)}") from None
        placing = ConfigIntegers(default)
        start = placing.start

        def build(point: Point) -> nn.Module:
            return source.build(placing.placed(fields, point))

        try:
            session(build, {}).model()
        except Exception as error:  # the class rejects its own default config
            more = "" if fields else "; a published config.json may set fields that the default config lacks"
            raise UnbuiltError(f"transformers cannot build {source.name}: {sentence(error)}{more}") from None
        samples = Samples(weights_at(build), start, limit=limit)
        stem = f"{HF}{source.model_type}".replace(":", "-")
        traced = Tracer(samples, letters_by_rule(start), stem=stem).trace(
            target, f"{source.name} of transformers, traced"
        )
        runner = replace(hf_runner(build, start, source), ignored=inert)
        if like is not None and traced.letters.items() <= like.letters.items() and like.ties == traced.ties:
            runner = replace(runner, like=like)
        return replace(runner.attached(traced), source=source)


def hf_runner(build: Build, start: Point, source: TracedClass) -> Runner:
    """Return the runner for a model of transformers."""
    refusal = ""
    if (reads := source.reads()) not in ("input_ids", "pixel_values"):
        refusal = f"{source.name} reads {reads}; only models that read tokens or images can be run"
    way = call_spec(source)
    return Runner(
        build,
        start,
        partial(caller_for, way),
        partial(lengths_of, way),
        letters_by_rule(start),
        "transformers",
        partial(caller_for, replace(way, head="base") if way.head == "masked" else way),  # the model makes positions
        refusal,
        lift=lift,
        images=IMAGES.get((way.pictures, source.places()), ""),
        unread=tuple(name for name in source.unread() if name != PIXELS or not way.pictures),
    )


def trace(
    build: Callable[..., Any], sizes: Mapping[str, int], target: str = "", inputs: Callable[..., Any] | None = None
) -> Trace:
    """Return the trace of ``build(**sizes)``, a function that returns an ``nn.Module``.

    Parameters
    ----------
    build
        A function (factory) that returns an ``nn.Module``.
    sizes
        The arguments to treat as sizes, with their initial values.
    target
        The name of the model in messages; by default the name of ``build``.
    inputs
        A function that returns the model's inputs. Its arguments are some of the sizes, B and S. With it, FLOPs can
        be traced too.

    Raises
    ------
    WitnessError

    """
    if isinstance(build, nn.Module):
        kind = type(build).__name__
        raise WitnessError(f"{kind} is already a torch module; pass a function that builds it from sizes")
    if not callable(build):
        raise WitnessError(
            f"{target or 'build'} is {repr(build)[:80]}, which is not callable; name a function or a class "
            "that builds a torch module"
        )
    start = {name: whole(name, value) for name, value in sizes.items()}
    name = target or getattr(build, "__name__", "model")
    _hold_arguments(build, start, name)
    defaults = _defaults(build, start)
    pinned = [Pinned(each, value, _DEFAULT) for each, value in defaults.items() if type(value) is int and value > 0]
    said = [f"{each}={value!r}" for each, value in defaults.items() if type(value) is not int or value <= 0]

    reads: list[str] = []  # the errors of code that reads tensor values, which tensors on the meta device lack
    seeds = count()

    def at(point: Point) -> nn.Module:
        def make() -> Any:
            return build(**{size: point[size] for size in start})

        with silence():
            try:
                made = built_with_values(make, next(seeds)) if reads else make()
            except Exception as error:
                if reads or not reads_values(error):
                    raise
                reads.append(line_of(error) or sentence(error, 120))
                made = built_with_values(make, next(seeds))
        return _a_module(made, name)

    hint = _same(start)
    title = f"{name} with {', '.join(said)[:200]}, traced" if said else f"{name}, traced"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = Tracer(Samples(weights_at(at), start, near=True), letters, fixed=pinned).trace(name, title)
        except WitnessError as error:
            read = f"; the code reads values of tensors while it builds ({reads[0]})" if reads else ""
            error.args = (f"{error}{read}{', so its structure may depend on them' * bool(reads)}{hint}",)
            raise
        values_hold(found, at, start, name)
    inert = _inert(found, start)
    if inert and (provenance := found.model.provenance).reading:
        provenance = replace(provenance, reading=replace(provenance.reading, ignored=inert))
        found = replace(found, model=replace(found.model, provenance=provenance))
    if not inputs:
        return found
    if not callable(inputs):
        raise WitnessError(f"inputs is {repr(inputs)[:80]}; pass a function of sizes that returns the model's inputs")
    calls, takes = caller_of_factory(inputs, start)
    if both := [each for each in inspect.signature(inputs).parameters if each in defaults]:
        raise WitnessError(f"{both[0]} is a default of {name}, but inputs requires it; give it an initial value")
    return Runner(at, start, calls, takes, letters, hint=hint, lift=lift, ignored=inert).attached(found)


def _inert(found: Trace, start: Point) -> tuple[str, ...]:
    """Return the sizes of a factory that do not affect its stored parameters, with their values.

    They are not an error: a factory may require an argument that affects only its matrix products.
    """
    conditions = {str(symbol) for each in found.model.constraints for symbol in each.symbols}
    known = {*found.symbols.values(), *(each.name for each in found.pinned)}
    known |= {name for size, tie in found.ties.items() for name in (size, *tie.powers)}
    known |= {name for name, letter in found.letters.items() if letter in conditions}
    return tuple(f"{name}={value}" for name, value in start.items() if name not in known)


def values_hold(found: Trace, build: Build, start: Point, name: str) -> None:
    """Raise WitnessError if the formula gives another parameter count than the factory at its initial sizes.

    Code may behave differently there than at the sampled sizes. Sizes that violate a condition are reported by it.
    """
    at = {letter: start[size] for letter, size in found.symbols.items() if size in start}
    try:
        value = found.model.params.value(at)
    except SizeError:
        return
    if (stored := _counted(STORED, None, build, start)) != value:
        raise WitnessError(f"{name} stores {stored:,} parameters at {dict(start)}, but the formula gives {value:,}")


def _hold_arguments(build: Callable[..., Any], start: Mapping[str, int], name: str) -> None:
    """Raise WitnessError if a factory has no sizes, lacks a required size, or does not accept a size.

    The message lists its arguments with their defaults.
    """
    takes: Mapping[str, inspect.Parameter] = {}
    with suppress(TypeError, ValueError):  # a C callable has no signature
        takes = inspect.signature(build).parameters
    single = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = {each.name: each for each in takes.values() if each.kind in single}
    spelt = [key if each.default is each.empty else f"{key}={each.default!r:.40}" for key, each in named.items()]
    known = f"its arguments are {listed(spelt)}" if spelt else "its signature names no arguments"
    if not start:
        raise WitnessError(f"{name} is a factory and needs a size for each argument, such as E=64; {known}{HOW}")
    if missing := [key for key, each in named.items() if each.default is each.empty and key not in start]:
        raise WitnessError(f"{name} needs a size for {listed(missing)}; {known}{HOW}")
    more = any(each.kind is each.VAR_KEYWORD for each in takes.values())
    if takes and not more and (odd := [key for key in start if key not in named]):
        near = get_close_matches(odd[0], named, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise WitnessError(f"{name} has no argument {odd[0]!r}; {hint}{known}")


def _defaults(build: Callable[..., Any], start: Mapping[str, int]) -> dict[str, Any]:
    """Return the arguments of a factory that keep their defaults, with these values."""
    try:
        takes = inspect.signature(build).parameters
    except (TypeError, ValueError):  # a C callable has no signature
        return {}
    return {name: each.default for name, each in takes.items() if name not in start and each.default is not each.empty}


def _same(start: Point) -> str:
    """Return a hint for a failed trace if two sizes start at the same value, or "" if all differ."""
    for first, second in combinations(start, 2):
        if start[first] == start[second]:
            return (
                f"; {first} and {second} both start at {start[first]:,}, and code may treat equal sizes as a special "
                "case: start them at different values"
            )
    return ""


def trace_target(
    given: AnyTarget, sizes: Mapping[str, int], head: str = "", inputs: str | Callable[..., Any] = ""
) -> Trace:
    """Return the trace of a target: hf:MODEL_TYPE, a local or Hub config.json, or package.module:factory."""
    named = parse(given)
    target = named.text
    factory = named.kind is TargetKind.FACTORY
    if factory and head:
        raise OptionError(
            f"{target} is a factory, and head={head} applies only to models of transformers; remove the head"
        )
    if not factory and (sizes or inputs):
        given = f"{next(iter(sizes))}={next(iter(sizes.values()))}" if sizes else "inputs"
        written = ":".join(target.rsplit(".", 1)) if named.kind is TargetKind.NAME else ""
        raise OptionError(
            f"{given} requires a factory, package.module:name, "
            + (f"such as {written}" if ":" in written else f"but {target} has its sizes in its config")
        )
    match named.kind:
        case TargetKind.HF:
            return trace_type(named.name, head)
        case TargetKind.CONFIG:
            return trace_config(named.name if named.config is None else named.config, head)
        case TargetKind.HUB:
            return trace_config(named.text, head)
        case TargetKind.NAME if os.path.isdir(named.name):
            return trace_config(named.name, head)
        case TargetKind.FACTORY:
            made = imported(inputs) if isinstance(inputs, str) and inputs else inputs
            return trace(imported(target), sizes, target, made or None)
    near = near_type(named.name) if named.kind is TargetKind.NAME else ""
    raise TargetError(named.refusal + (f"; did you mean {HF}{near}?" if near else ""))


def imported(target: str) -> Callable[..., Any]:
    """Return the function of a factory: package.module:name, or path/file.py:name. Raises WitnessError."""
    where, name = factory_of(target)
    file = Path(where) if where.endswith(".py") and parse(target).kind is TargetKind.FACTORY else None
    if file is not None and not file.is_file():
        raise WitnessError(f"{target}: the file {where} does not exist")
    if file is None and not all(word.isidentifier() for word in [*where.split("."), name]):
        raise WitnessError(
            f"{target!r} does not have the form package.module:factory, such as my.models:gpt, or file.py:factory"
        )
    sys.path.insert(0, str(file.parent.absolute() if file else Path.cwd()))
    try:
        with silence():
            module = _executed(file) if file else importlib.import_module(where)
            found: Callable[..., Any] = getattr(module, name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # any error of the imported module, even SystemExit
        raise WitnessError(f"{target} cannot be imported: {sentence(error)}") from None
    finally:
        sys.path.pop(0)
    return found


def built(factory: Callable[..., Any], target: str) -> nn.Module:
    """Return the module that a factory builds without arguments, on the meta device. Raises WitnessError."""
    with silence(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return session(lambda point: _a_module(factory(), target), {}).model()
        except WitnessError:
            raise
        except Exception as error:
            raise WitnessError(f"{target} cannot be built: {sentence(error)}") from None


def _a_module(made: object, target: str) -> nn.Module:
    if not isinstance(made, nn.Module):
        raise WitnessError(f"{target} returns an object of type {type(made).__name__}; it must return an nn.Module")
    return made


def _executed(file: Path) -> ModuleType:
    """Run a Python file and return its module, registered under a name that no other module has."""
    name = file.stem if file.stem not in sys.modules else f"{file.stem}.py"
    spec = spec_from_file_location(name, file.absolute())
    if spec is None or spec.loader is None:
        raise ImportError(f"{file.name} cannot be loaded")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def values_at(traced: Trace, path: str, quantity: str = "params", given: Mapping[str, int] | None = None) -> int:
    """Return the value of a traced formula at another config, checked against torch at that config.

    Parameters
    ----------
    traced
        The trace of a class of transformers.
    path
        The config.json to evaluate the formula at.
    quantity
        The quantity to evaluate.
    given
        The sizes of the run, such as B and S.

    Raises
    ------
    ConfigError, SizeError

    """
    opened_at = open_config(path)
    source, fields, made = _config_at(traced, path, opened_at.config)
    found = traced.for_quantity(quantity)
    numbers = {**whole_numbers(made), **(given or {})}
    asked = [name for symbol, name in found.symbols.items() if symbol == name]  # sizes of the run, not of a config
    if odd := [name for name in given or {} if name not in asked]:
        raise SizeError(f"{odd[0]} is not a size of the run; {quantity} depends on {', '.join(asked) or 'none'}")
    if missing := [name for name in found.symbols.values() if name not in numbers]:
        remedy = "; set it with --set" if all(name in SYMBOLS for name in missing) else ""
        raise ConfigError(f"{path} does not set {', '.join(missing)}{remedy}")
    formula = replace(_stating(found.model, opened_at), target=path).formula(quantity)
    held = {str(symbol) for each in formula.constraints if isinstance(each, Equals) for symbol in each.symbols}
    known = {letter: numbers[name] for name, letter in found.letters.items() if name in numbers}
    value = formula.value({letter: size for letter, size in known.items() if letter in {*found.symbols, *held}})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counted = _counted(
                quantity, None if quantity == STORED else call_spec(source), lambda point: source.build(fields), numbers
            )
    except Exception as error:
        raise ConfigError(f"cannot build the model of {path} to check the formula: {sentence(error)}") from None
    if counted != value:
        raise ConfigError(
            f"{path} differs from the traced config in more than sizes: torch counts {counted:,}, the formula {value:,}"
        )
    return value


def ignored_at(traced: Trace, path: str) -> tuple[str, ...]:
    """Return the switches in another config that do not affect the traced class's stored parameters.

    Raises ConfigError.
    """
    source, fields, _ = _config_at(traced, path, open_config(path).config)
    return ignored(source, fields)


def _config_at(traced: Trace, path: str, config: Mapping[str, Any]) -> tuple[TracedClass, dict[str, Any], Any]:
    """Return the traced class, the fields of a config for it, and the config built from them. Raises ConfigError."""
    source = traced.source
    if not isinstance(source, TracedClass):
        raise ConfigError(
            f"{traced.model.target} is a factory; only models of transformers can be evaluated at a config"
        )
    if (named := config.get("model_type")) != source.model_type and (
        not isinstance(named, str) or is_model_type(named)
    ):
        raise ConfigError(f"{path} has model_type={named!r}, but the formula is for {source.model_type!r}")
    named_here = of_config(config, path) if config.get("architectures") is not None else source
    if named_here.model_class is not source.model_class:
        raise ConfigError(f"{path} names the class {named_here.name}, but the formula is for {source.name}")
    fields = _fields(config, path, source)
    try:
        return source, fields, source.config(fields)
    except Exception as error:
        raise ConfigError(f"transformers cannot read the config {path}: {sentence(error)}") from None


def _counted(quantity: str, way: CallSpec | None, build: Build, point: Point) -> int:
    if way is None:
        return sum(map(prod, weights_at(build)(point).values()))
    return RUNS[quantity].count(Points(build, caller_for(way, RUNS[quantity])), point)


def letters(names: Sequence[str]) -> dict[str, Symbol]:
    """Return a symbol for each size of a factory: the letter of a known argument name, or else the name itself."""
    found: dict[str, Symbol] = {}
    for name in names:
        own = SYMBOLS[name] if name in SYMBOLS else name_size(name)
        found[name] = name_size(f"{name}_") if own in found.values() else own
    return found


def letters_by_rule(fields: Collection[str]) -> Letters:
    """Return the function that gives a symbol to each size of a config with these fields and of its runs."""
    known = {name: named_symbol(letter) for name, letter in letters_of_fields(fields).items()}
    return lambda names: {name: known.get(name) or SYMBOLS.get(name) or name_size(name) for name in names}
