"""Models of diffusers, traced from their configs: the class that ``_class_name`` names, built on the meta device.

The sizes of the formula are the integers of the config. Lists, such as the widths of the blocks of a UNet, are fixed
to the config's values, and a note says so.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from time import process_time
from typing import Any, cast

import torch
from torch import nn

from ..catalogue.diffusers_models import check_fields, class_name, fields_of, stored_buffers, unread_fields
from ..catalogue.measured_model import DIFFUSERS, MeasuredModel
from ..language.errors import ConfigError, SizeError, WitnessError, quoted
from ..models.provenance import TraceEvidence
from .error_messages import sentence
from .interpolation import UnfitError
from .measured_points import weights_at
from .row_samples import Samples
from .stored_weights import releases
from .torch_session import silence
from .trace_result import Trace
from .trace_sources import letters_by_rule
from .tracer import Tracer

# CPU seconds for a formula in all sizes, and again for one in the channels alone. A build in progress is completed; the
# largest classes take one to two seconds each.
PATIENCE = 10.0

Build = Callable[[Mapping[str, int]], nn.Module]


def trace_diffusion(config: Mapping[str, Any], path: str) -> Trace:
    """Trace the parameters of the class of a diffusers config, with the config's numbers.

    A size without a formula is fixed at its value in the config. If the search takes too long, only the numbers of
    channels stay symbolic. Notes list the fixed sizes. The total at the config is checked against the class.
    Raises ConfigError and WitnessError.
    """
    kind, given = model_class(config, path), fields_of(config)
    defaults = {name: each.default for name, each in inspect.signature(kind.__init__).parameters.items()}
    check_fields(path, kind.__name__, given, defaults)
    fields = {name: value for name, value in given.items() if name in defaults}

    def build(point: Mapping[str, int]) -> nn.Module:
        with silence():
            return cast(nn.Module, kind.from_config({**fields, **point}))

    start = {name: value for name, value in fields.items() if type(value) is int and value > 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.device("meta"):
                made = build({})
        except Exception as error:  # any error of the traced class
            raise ConfigError(f"{path}: diffusers cannot build {kind.__name__}: {sentence(error)}") from None
        if not start:
            raise ConfigError(f"{path} has no positive integer that {kind.__name__} reads, such as 'in_channels'")
        found, sizes = _formula(build, start, sum(each.numel() for each in made.parameters()), kind.__name__, path)
    fixed = {name: value for name, value in start.items() if name not in sizes}
    lists = [name for name, value in {**defaults, **fields}.items() if isinstance(value, list | tuple) and value]
    notes = [
        *_listed("the formula holds only for the lists of this config", lists),
        *_listed("no formula was found in these sizes, which are fixed", [f"{n}={v:,}" for n, v in fixed.items()]),
        *unread_fields(kind.__name__, given, fields),
        *stored_buffers(buffers(made)),
    ]
    read = found.model.provenance
    reading = replace(cast(TraceEvidence, read.reading), versions=releases("torch", DIFFUSERS))
    known = replace(read, reading=reading, assumed=tuple(notes), config=start)
    component = replace(cast(MeasuredModel, found.model.component), maker=DIFFUSERS)
    return replace(found, model=replace(found.model, component=component, provenance=known))


def _formula(
    build: Build, start: Mapping[str, int], total: int, name: str, path: str
) -> tuple[Trace, Mapping[str, int]]:
    """Return a formula with the total of the class at the config, and its sizes. Raises WitnessError."""
    sizes, until = dict(start), process_time() + PATIENCE
    while sizes:
        try:
            return _traced(build, sizes, total, name, path, until - process_time()), sizes
        except WitnessError as error:
            refusal = error
            moves = error.moves if isinstance(error, UnfitError) else ()
            rounded = next((size for size in reversed(moves) if size in sizes), "")
            if not rounded:
                break
            del sizes[rounded]  # a class that rounds a multiple of it, such as 8/3 times, has no formula in it
    channels = {size: value for size, value in start.items() if size.endswith("channels")}
    if not channels:
        raise refusal
    return _traced(build, channels, total, name, path, PATIENCE), channels


def _traced(build: Build, sizes: Mapping[str, int], total: int, name: str, path: str, limit: float) -> Trace:
    """Trace the class over some sizes and set the config's values. Raises WitnessError if the total differs."""
    samples = Samples(weights_at(build), dict(sizes), limit=max(round(limit, 1), 0))
    found = Tracer(samples, letters_by_rule(sizes), stem=name).trace(path, f"{name} of diffusers, traced")
    numbers = {letter: sizes[field] for letter, field in found.symbols.items() if field in sizes}
    try:
        model = found.model.set(numbers)
        value = model.params.value()
    except SizeError as error:
        raise WitnessError(f"the formula found does not hold at the config: {error}") from None
    if value != total:
        raise WitnessError(f"{name} stores {total:,} parameters at {dict(sizes)}, but the formula gives {value:,}")
    return replace(found, model=model)


def _listed(what: str, names: Sequence[str]) -> list[str]:
    """Return a note that lists names, or [] if there are none."""
    return [f"{what}: {', '.join(names)}"] if names else []


def buffers(model: nn.Module) -> int:
    """Return the number of buffer elements that a checkpoint stores in addition to the parameters."""
    weights = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    return sum(each.numel() for name, each in model.state_dict().items() if name not in weights)


def model_class(config: Mapping[str, Any], path: str) -> Any:
    """Return the class that a config names. Raises ConfigError, and WitnessError if diffusers cannot be imported."""
    name = class_name(config)
    try:
        with silence():
            library: Any = import_module("diffusers")
    except (ImportError, OSError, RuntimeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "diffusers":
            raise WitnessError(
                f"{path} needs {name} of diffusers to count it, but diffusers is not installed: pip install diffusers"
            ) from None
        raise WitnessError(
            f"{path} needs {name} of diffusers to count it, but diffusers cannot be imported ({sentence(error, 120)}); "
            "reinstall it: pip install --force-reinstall diffusers"
        ) from None
    library.logging.set_verbosity_error()
    try:
        found = getattr(library, name) if name.isidentifier() else None
    except Exception:  # no such name, or an optional library is not installed
        found = None
    model = isinstance(found, type) and issubclass(found, library.ModelMixin)
    if not model or not found.__module__.startswith("diffusers."):
        raise ConfigError(f"{path} names the class {quoted(name)}, but diffusers has no model with that name")
    return found
