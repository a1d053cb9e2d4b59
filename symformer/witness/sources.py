"""What a trace starts from: a model type of transformers, a config.json, or a factory of one's own.

Running a factory runs its code. Nothing is fetched, no remote code is trusted, and models stand on the meta device.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from sympy import Symbol
from torch import nn

from ..config import read_config
from ..errors import ConfigError, SizeError, TargetError, UnknownNameError, WitnessError
from ..sizes import whole
from ..symbols import SYMBOLS, name_size
from ..target import HF, Kind, parse
from .calling import calling, calling_with, lengths_of
from .drawing import DEEP, ENTRY
from .fitting import Point
from .running import Build, session, stored
from .runs import RUNS, Runner
from .session import silence
from .tracing import Trace, Tracer, UnbuiltError, sentence

HEADS = {
    "causal": "MODEL_FOR_CAUSAL_LM_MAPPING",
    "masked": "MODEL_FOR_MASKED_LM_MAPPING",
    "seq2seq": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING",
    "image": "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING",
    "base": "MODEL_MAPPING",
}

# Whole numbers of a config that are no sizes, whatever they are set to: passing them on would only cost builds.
STAGES = 6  # a list of more numbers is one of layers
PLACES = re.compile("ind(ex|ices)|_ids?$|layers$")  # lists that say where and not how many
_NEVER = ("_token_id", "_index", "num_labels", "seed", "_token")


def types(head: str) -> list[str]:
    """The model types that transformers has with a head. Raises UnknownNameError."""
    from transformers.models.auto import modeling_auto

    if head not in HEADS:
        raise UnknownNameError("head", head, HEADS)
    return list(getattr(modeling_auto, HEADS[head] + "_NAMES"))


def trace_type(model_type: str, head: str = "", given: Mapping[str, Any] | None = None, target: str = "") -> Trace:
    """The trace of a model type of transformers, from its default config or the fields given.

    The head is the first that the type has of causal, seq2seq, masked, image and base, unless one is named.
    Raises WitnessError and UnknownNameError.
    """
    import transformers
    from transformers.models.auto import modeling_auto

    configuration_auto: Any = importlib.import_module("transformers.models.auto.configuration_auto")

    cast(Any, transformers.logging).set_verbosity_error()
    if model_type not in configuration_auto.CONFIG_MAPPING_NAMES:
        near = get_close_matches(model_type, configuration_auto.CONFIG_MAPPING_NAMES, n=3)
        raise WitnessError(
            f"unknown model type {model_type!r} in this transformers; "
            + (f"did you mean {' or '.join(near)}?" if near else "a model type is such as gpt2 or qwen3_moe")
        )
    offered = [name for name in ("causal", "seq2seq", "masked", "image", "base") if model_type in types(name)]
    head = head or (offered[0] if offered else "base")
    if head not in offered:
        raise WitnessError(f"{model_type} has no {head} model in transformers; it has {', '.join(offered) or 'none'}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made_by = configuration_auto.CONFIG_MAPPING[model_type]
            mapping = getattr(modeling_auto, HEADS[head])
            fields = dict(given or {})
            default = made_by(**fields)
            found = mapping[made_by]
        except Exception as error:  # whatever somebody's config raises, there is no model to trace
            refused = WitnessError if given else UnbuiltError
            raise refused(f"the config of {model_type} cannot be made: {sentence(error)}") from None
        model_class = found[0] if isinstance(found, tuple) else found
        start = _whole_numbers(default)

        def build(point: Point) -> nn.Module:
            arguments: dict[str, Any] = dict(fields)
            for name, value in point.items():
                into, _, last = name.rpartition(".")
                if into:
                    nested = arguments.setdefault(into, {"model_type": getattr(default, into).model_type})
                    arguments[into] = dict(nested)
                scope = arguments[into] if into else arguments
                entry = ENTRY.search(last)
                if entry:
                    field, place = last[: entry.start()], int(entry[1])
                    before = scope.get(field) or getattr(getattr(default, into) if into else default, field)
                    scope[field] = [value if each == place else old for each, old in enumerate(before)]
                else:
                    scope[last] = value
            for name, value in point.items():  # a list with an entry for each layer is as long as there are layers
                into, _, last = name.rpartition(".")
                scope = arguments[into] if into else arguments
                for field, entries in scope.items() if DEEP.search(last) else ():
                    if isinstance(entries, list) and len(entries) == start[name] > 1:
                        scope[field] = _repeated(field, entries, value)
            config = made_by(**arguments)
            return cast(nn.Module, model_class(config))

        try:
            session(build, {}).model()
        except Exception as error:  # the class itself refuses its own default config
            raise UnbuiltError(f"transformers cannot build {model_class.__name__}: {sentence(error)}") from None
        title = f"{model_class.__name__} of transformers, traced"
        traced = Tracer(stored(build), start, letters).trace(target or HF + model_type, title)
        return replace(hf_runner(build, start, head).attached(traced), head=head)


def hf_runner(build: Build, start: Point, head: str) -> Runner:
    """What runs a model of transformers that has a head."""
    return Runner(build, start, partial(calling, head), partial(lengths_of, head), letters, "transformers")


def trace_config(path: str, head: str = "") -> Trace:
    """The trace of the type that a config.json names, with that file's own switches. Raises ConfigError."""
    config = read_config(path)
    model_type = config.get("model_type")
    if not isinstance(model_type, str):
        raise ConfigError(f"{path} names no 'model_type', such as \"gpt2\"")
    config = {name: value for name, value in config.items() if name not in ("auto_map", "architectures")}
    return trace_type(model_type, head, config, path)


def trace(
    build: Callable[..., Any], sizes: Mapping[str, int], target: str = "", inputs: Callable[..., Any] | None = None
) -> Trace:
    """The trace of ``build(**sizes)``, a function that returns an ``nn.Module``; the sizes are where it starts.

    With ``inputs``, a function of some of these sizes and of B and S that returns what the module is called with, its
    FLOPs are traced too.
    """
    start = {name: whole(name, value) for name, value in sizes.items()}
    if not start:
        raise WitnessError("a factory needs at least one size to trace, such as E=64")
    name = target or getattr(build, "__name__", "model")

    def at(point: Point) -> nn.Module:
        made = build(**{size: point[size] for size in start})
        if not isinstance(made, nn.Module):
            raise WitnessError(f"{name} returns a {type(made).__name__} and not an nn.Module")
        return made

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Tracer(stored(at), start, letters).trace(name, f"{name}, traced")
    return Runner(at, start, *calling_with(inputs, start), letters).attached(found) if inputs else found


def trace_target(target: str, sizes: Mapping[str, int], head: str = "", inputs: str = "") -> Trace:
    """The trace of what a target names: hf:MODEL_TYPE, a config.json, or package.module:factory."""
    named = parse(target)
    match named.kind:
        case Kind.HF:
            return trace_type(named.name, head)
        case Kind.CONFIG:
            return trace_config(named.name, head)
        case Kind.FACTORY:
            return trace(_imported(target), sizes, target, _imported(inputs) if inputs else None)
    raise TargetError(named.refusal)


def _imported(target: str) -> Callable[..., Any]:
    module, _, name = target.rpartition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        with silence():
            found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise WitnessError(f"{target} cannot be imported: {sentence(error)}") from None
    finally:
        sys.path.pop(0)
    return found


def values_at(traced: Trace, path: str, quantity: str = "params", given: Mapping[str, int] | None = None) -> int:
    """The value of a traced formula at another config, held against torch at that config.

    Raises ConfigError and SizeError; ``given`` are the sizes of the run, such as B and S.
    """
    if not traced.head:
        raise ConfigError(f"{traced.model.target} is a factory, and a config is read for models of transformers")
    found = traced.of(quantity)
    configuration_auto: Any = importlib.import_module("transformers.models.auto.configuration_auto")
    config = read_config(path)
    try:
        made = configuration_auto.CONFIG_MAPPING[config["model_type"]](
            **{name: value for name, value in config.items() if name != "auto_map"}
        )
    except Exception as error:
        raise ConfigError(f"{path} is not a config that transformers reads: {sentence(error)}") from None
    numbers = {**_whole_numbers(made), **(given or {})}
    asked = [name for symbol, name in found.symbols.items() if symbol == name]  # of the run, and of no config
    if odd := [name for name in given or {} if name not in asked]:
        raise SizeError(f"{odd[0]} is no size of the run; {quantity} asks for {', '.join(asked) or 'none'}")
    if missing := [name for name in found.symbols.values() if name not in numbers]:
        remedy = "; give it with --set" if all(name in SYMBOLS for name in missing) else ""
        raise ConfigError(f"{path} gives no {', '.join(missing)}{remedy}")
    value = found.model.formula(quantity).value({symbol: numbers[name] for symbol, name in found.symbols.items()})
    modeling = importlib.import_module("transformers.models.auto.modeling_auto")
    try:
        classes = getattr(modeling, HEADS[traced.head])[type(made)]
        model_class = classes[0] if isinstance(classes, tuple) else classes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counted = _counted(quantity, traced.head, lambda point: cast(nn.Module, model_class(made)), numbers)
    except Exception as error:
        raise ConfigError(f"{path} has no model that this formula could stand for: {sentence(error)}") from None
    if counted != value:
        raise ConfigError(f"{path} differs from the config traced in more than sizes: {counted:,}, not {value:,}")
    return value


def _counted(quantity: str, head: str, build: Build, point: Point) -> int:
    if quantity == "params":
        return sum(map(prod, stored(build)(point).values()))
    return RUNS[quantity].count(build, calling(head, RUNS[quantity]), point)


def letters(names: Sequence[str]) -> dict[str, Symbol]:
    """A symbol for each size: the letter of a usual field, or of an argument of that name; else the name itself."""
    found: dict[str, Symbol] = {}
    for name in names:
        last = name.rpartition(".")[2]
        symbol = SYMBOLS[name] if name in SYMBOLS else name_size(last)
        found[name] = (
            symbol if symbol not in found.values() else name_size(name.replace(".", "_") + "_" * (last == name))
        )
    return found


def _repeated(field: str, entries: list[Any], length: int) -> list[Any]:
    """The entries of a list for another number of layers, by its period. Raises WitnessError where it has none."""
    period = next((n for n in range(1, len(entries)) if entries[n:] == entries[:-n]), len(entries))
    if length != len(entries) and 2 * period > len(entries):
        raise WitnessError(f"{field} lists {len(entries)} layers that repeat no pattern")
    return [entries[layer % period] for layer in range(length)]


def _whole_numbers(config: Any) -> dict[str, int]:
    """Every whole number of a config and of the configs inside it, by name, and those in lists by their places."""
    found = {}
    for name, value in vars(config).items():
        if name.startswith("_") or name.endswith(_NEVER):
            continue
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            found[name] = value
        elif isinstance(value, (list, tuple)) and 1 < len(value) <= STAGES and not PLACES.search(name):
            if all(type(each) is int and each > 0 for each in value):
                found |= {f"{name}[{place}]": each for place, each in enumerate(value)}
        elif name in config.sub_configs and hasattr(value, "sub_configs"):
            found |= {f"{name}.{inner}": number for inner, number in _whole_numbers(value).items() if "." not in inner}
    return found
