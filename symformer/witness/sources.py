"""What a trace starts from: a model type of transformers, a config.json, or a factory of one's own.

Running a factory runs its code. Nothing is fetched, no remote code is trusted, and models stand on the meta device.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from sympy import Symbol
from torch import nn

from ..config import read_config
from ..errors import ConfigError, UnknownNameError, WitnessError
from ..sizes import AtMost, whole
from ..symbols import SYMBOLS, name_size
from .calling import calling
from .measure import without_initialisation
from .running import RUNS, Call, Run, stored
from .traced import Traced
from .tracing import Point, Trace, Tracer

HEADS = {
    "causal": "MODEL_FOR_CAUSAL_LM_MAPPING",
    "masked": "MODEL_FOR_MASKED_LM_MAPPING",
    "seq2seq": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING",
    "image": "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING",
    "base": "MODEL_MAPPING",
}
HF = "hf:"


class UnbuiltError(WitnessError):
    """A class that its own default config does not build: there is nothing to trace."""


# Batches to run, and windows where lengths stand on both sides.
BATCHES = (2, 3, 5, 7, 11)
WINDOWS = (601, 701, 1009, 1201, 1801)
RUN_LIMIT = 90  # seconds

# Whole numbers of a config that are no sizes, whatever they are set to: passing them on would only cost builds.
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
            raise WitnessError(f"the config of {model_type} cannot be made: {_sentence(error)}") from None
        model_class = found[0] if isinstance(found, tuple) else found

        def build(point: Point) -> nn.Module:
            arguments: dict[str, Any] = dict(fields)
            for name, value in point.items():
                into, _, last = name.rpartition(".")
                if into:
                    nested = arguments.setdefault(into, {})
                    arguments[into] = {**nested, last: value}
                else:
                    arguments[last] = value
            config = made_by(**arguments)
            return cast(nn.Module, model_class(config))

        try:
            with torch.device("meta"), without_initialisation():
                build({})
        except Exception as error:  # the class itself refuses its own default config
            raise UnbuiltError(f"transformers cannot build {model_class.__name__}: {_sentence(error)}") from None
        title = f"{model_class.__name__} of transformers, traced"
        start = _whole_numbers(default)
        traced = Tracer(stored(build), start, letters).trace(target or HF + model_type, title)
        return replace(_with_runs(traced, build, start, partial(calling, head)), head=head)


def _with_runs(found: Trace, build: Callable[[Point], nn.Module], start: Point, call: Callable[[Run], Call]) -> Trace:
    """The trace of what is stored, that can also run the model: each quantity is traced when it is first asked for."""

    @cache
    def of(quantity: str) -> Trace:
        """The first lengths that do not bound the formula, or whose bound is widest."""
        bounded: Trace | None = None
        refusal: WitnessError | None = None
        for lengths in RUNS[quantity].lengths:
            try:
                traced = run_at(RUNS[quantity], lengths)
            except WitnessError as error:
                refusal = refusal or error
                continue
            if not any(isinstance(each, AtMost) for each in traced.model.constraints):
                return traced
            bounded = traced
        if bounded is None:
            raise cast(WitnessError, refusal)
        return bounded

    def run_at(run: Run, lengths: tuple[int, ...]) -> Trace:
        calls = call(run)
        windows = dict.fromkeys((name for name in start if "window" in name and run.cache), WINDOWS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = Tracer(
                run.measure(build, calls),
                {**start, "B": 2, run.length: lengths[0]},
                lambda names: letters(list(dict.fromkeys([*found.symbols.values(), *names]))),
                kind=run.kind,
                draws={"B": BATCHES, run.length: lengths[1:], **windows},
                length=run.length,
                total=run.total and run.total(build, calls),
                limit=RUN_LIMIT,
            ).trace(found.model.target, found.model.title)
        return _with(traced, maker="transformers")

    def measure(quantity: str) -> Traced:
        return cast(Traced, of(quantity).model.component)

    return replace(_with(found, measure=measure, maker="transformers"), of=of)


def _with(found: Trace, **facts: Any) -> Trace:
    component: Any = replace(cast(Any, found.model.component), **facts)
    return replace(found, model=replace(found.model, component=component))


def trace_config(path: str, head: str = "") -> Trace:
    """The trace of the type that a config.json names, with that file's own switches. Raises ConfigError."""
    config = read_config(path)
    model_type = config.get("model_type")
    if not isinstance(model_type, str):
        raise ConfigError(f"{path} names no 'model_type', such as \"gpt2\"")
    config = {name: value for name, value in config.items() if name not in ("auto_map", "architectures")}
    return trace_type(model_type, head, config, path)


def trace(build: Callable[..., Any], sizes: Mapping[str, int], target: str = "") -> Trace:
    """The trace of ``build(**sizes)``, a function that returns an ``nn.Module``; the sizes are where it starts."""
    start = {name: whole(name, value) for name, value in sizes.items()}
    if not start:
        raise WitnessError("a factory needs at least one size to trace, such as E=64")
    name = target or getattr(build, "__name__", "model")

    def at(point: Point) -> nn.Module:
        made = build(**point)
        if not isinstance(made, nn.Module):
            raise WitnessError(f"{name} returns a {type(made).__name__} and not an nn.Module")
        return made

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Tracer(stored(at), start, letters).trace(name, f"{name}, traced")


def trace_target(target: str, sizes: Mapping[str, int], head: str = "") -> Trace:
    """The trace of what a target names: hf:MODEL_TYPE, a config.json, or package.module:factory."""
    if target.startswith(HF):
        return trace_type(target.removeprefix(HF), head)
    module, colon, name = target.rpartition(":")
    if not colon:
        return trace_config(target, head)
    sys.path.insert(0, str(Path.cwd()))
    try:
        factory = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise WitnessError(f"{target} cannot be imported: {_sentence(error)}") from None
    finally:
        sys.path.pop(0)
    return trace(factory, sizes, target)


def values_at(traced: Trace, path: str) -> int:
    """The value of a traced formula at another config. Raises ConfigError and SizeError."""
    configuration_auto: Any = importlib.import_module("transformers.models.auto.configuration_auto")
    config = read_config(path)
    try:
        made = configuration_auto.CONFIG_MAPPING[config["model_type"]](
            **{name: value for name, value in config.items() if name != "auto_map"}
        )
    except Exception as error:
        raise ConfigError(f"{path} is not a config that transformers reads: {_sentence(error)}") from None
    numbers = _whole_numbers(made)
    missing = [name for name in traced.symbols.values() if name not in numbers]
    if missing:
        raise ConfigError(f"{path} gives no {', '.join(missing)}")
    value = traced.model.params.value({symbol: numbers[name] for symbol, name in traced.symbols.items()})
    modeling = importlib.import_module("transformers.models.auto.modeling_auto")
    try:
        found = getattr(modeling, HEADS[traced.head])[type(made)]
        model_class = found[0] if isinstance(found, tuple) else found
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = stored(lambda point: cast(nn.Module, model_class(made)))({})
    except Exception as error:
        raise ConfigError(f"{path} has no model that this formula could stand for: {_sentence(error)}") from None
    if (counted := sum(map(prod, rows.values()))) != value:
        raise ConfigError(f"{path} differs from the config traced in more than sizes: {counted:,}, not {value:,}")
    return value


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


def _whole_numbers(config: Any) -> dict[str, int]:
    """Every whole number of a config and of the configs inside it, by name."""
    found = {}
    for name, value in vars(config).items():
        if name.startswith("_") or name.endswith(_NEVER):
            continue
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            found[name] = value
        elif name in config.sub_configs and hasattr(value, "sub_configs"):
            found |= {f"{name}.{inner}": number for inner, number in _whole_numbers(value).items() if "." not in inner}
    return found


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
