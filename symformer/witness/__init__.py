"""The torch side, the only package that imports torch. Models are built on the meta device, so size costs nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from itertools import chain
from multiprocessing import get_context
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ..configs.hub import build_offline
from ..language.errors import OptionError, WitnessError
from ..language.target import AnyTarget, is_config, is_module
from ..models.model import Model
from ..quantities import quantity as find_quantity
from ..quantities.spellings import spelled

if TYPE_CHECKING:
    from ..catalogue.record import Find
    from .certification import Verdict
    from .trace_result import Trace

Task = tuple[Model, str, Mapping[str, str]]  # a model, a quantity, and the conventions it is counted under

INSTALL = "pip install torch transformers"  # works however symformer itself was installed
FEW = 20  # checks that take less time than starting another process

build_offline()  # models are built from their code alone


def verify(
    target: Model | AnyTarget,
    seed: int | None = None,
    quantity: str = "params",
    way: Mapping[str, str] | None = None,
    **conventions: str,
) -> Verdict:
    """Verify a quantity of a model against its torch class.

    Parameters
    ----------
    target
        A model or a target, such as "gpt2".
    seed
        The seed of the random sizes; pass it to repeat a run.
    quantity
        The quantity to check.
    way
        The former spelling of ``**conventions``: a mapping. Give one of the two.
    **conventions
        Conventions that differ from those under which torch counts by default, such as ``optimizer="sgd"``; they are
        one of the sets that ``symformer.witness.provable`` returns.

    Returns
    -------
    Verdict
        A certificate, or the rows that differ.

    Raises
    ------
    OptionError
        If both ``way`` and conventions are given.
    WitnessError
        If torch is not installed, the target has no torch class, or torch cannot count under these conventions.

    Examples
    --------
    >>> verify("gpt2").exact
    True

    """
    if way is not None and conventions:
        raise OptionError(f"{next(iter(conventions))} is a convention next to way; give all of them as keywords")
    question = find_quantity(quantity)
    given = spelled(way or conventions, question.choices)
    verdict: Verdict = torch_side().verify(target, seed, question.measure.name, given)
    return verdict


def verify_all(tasks: Sequence[Task], seed: int | None = None) -> list[Verdict]:
    """Check several tasks, in parallel, and return the verdicts in order. The checks of one model share their runs."""
    models: dict[int, list[int]] = {}
    for place, (model, _, _) in enumerate(tasks):
        models.setdefault(id(model), []).append(place)
    groups = [[tasks[place] for place in places] for places in models.values()]
    workers = min(os.cpu_count() or 1, 8, len(groups))
    if workers == 1 or len(tasks) < FEW:
        found = [_of_one(group, seed) for group in groups]
    else:  # each worker imports torch itself: a process that has used torch is not safe to fork
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            found = list(pool.map(_of_one, groups, [seed] * len(groups)))
    verdicts = zip((place for places in models.values() for place in places), chain.from_iterable(found), strict=True)
    return [verdict for _, verdict in sorted(verdicts, key=itemgetter(0))]


def _of_one(tasks: Sequence[Task], seed: int | None) -> list[Verdict]:
    found: list[Verdict] = torch_side().verify_many(tasks[0][0], [task[1:] for task in tasks], seed)
    return found


def provable(model: Model) -> list[tuple[str, Mapping[str, str]]]:
    """Return the quantities that torch can check for a model, each with its conventions other than torch's defaults.

    Raises WitnessError if torch is not installed.
    """
    found: list[tuple[str, Mapping[str, str]]] = torch_side().provable(model)
    return found


def trace(
    build: Callable[..., Any] | AnyTarget,
    sizes: Mapping[str, int] | None = None,
    head: str = "",
    inputs: Callable[..., Any] | str = "",
) -> Trace:
    """Derive the formulas of a model by running its code.

    Parameters
    ----------
    build
        A function or a class with ``build(**sizes)`` that returns an ``nn.Module``; hf:MODEL_TYPE; package:factory; or
        a config: a local config.json, a Hub id, a mapping with its fields, or a config object of transformers.
    sizes
        The arguments of a factory to treat as sizes, with their initial values.
    head
        The head of a model of transformers, such as causal or base.
    inputs
        A function that returns the inputs of a factory's model. Its arguments are some of the sizes, B and S.

    Returns
    -------
    Trace
        ``.model.params`` is traced at once, other quantities on first use; ``.for_quantity(quantity)`` reports what
        was checked.

    Raises
    ------
    OptionError
        If a head is given for a factory, or sizes for a config.
    TargetError
        If the target has no torch code.
    WitnessError
        If no formula is found that holds at fresh random sizes.

    Examples
    --------
    >>> from torch import nn
    >>> def build(E, H):
    ...     return nn.Sequential(nn.Linear(E, H), nn.ReLU(), nn.Linear(H, E))
    >>> trace(build, {"E": 8, "H": 20}).model.params
    2*E*H + E + H

    """
    found: Trace
    if isinstance(build, (str, os.PathLike)) or (is_config(build) and not is_module(build)):
        found = torch_side("trace_sources").trace_target(build, sizes or {}, head, inputs)
    elif head:
        raise OptionError(f"head={head} applies only to models of transformers, not to factories; remove it")
    else:
        found = torch_side("trace_sources").trace(build, sizes or {}, "", inputs or None)
    return found


def imported(target: str) -> Any:
    """Return the function, class or module that package.module:name names. Its code is run. Raises WitnessError."""
    return torch_side("trace_sources").imported(target)


def built(factory: Callable[..., Any], target: str) -> Any:
    """Return the module that a function or a class without sizes builds, on the meta device. Raises WitnessError."""
    return torch_side("trace_sources").built(factory, target)


def trace_factory(factory: Callable[..., Any], sizes: Mapping[str, int], target: str) -> Trace:
    """Return the trace of a function or a class that is already imported. Raises WitnessError."""
    found: Trace = torch_side("trace_sources").trace(factory, sizes, target)
    return found


def records(path: str, config: Mapping[str, Any]) -> Find:
    """Return the traced records of the class that a config names, by quantity; ``path`` is where it was read from.

    Raises ConfigError, and WitnessError if no formula is found or torch is not installed.
    """
    found: Find = torch_side("trace_sources").records(path, config)
    return found


def trace_diffusion(path: str, config: Mapping[str, Any]) -> Trace:
    """Return the trace of the parameters of the diffusers class that a config names, at the config's sizes.

    Raises ConfigError, and WitnessError if no formula is found, or torch or diffusers is not installed.
    """
    found: Trace = torch_side("diffusers_classes").trace_diffusion(config, path)
    return found


def values_at(traced: Trace, path: str, quantity: str = "params", given: Mapping[str, int] | None = None) -> int:
    """Return the value of a traced formula at another config.json and at given sizes of a run.

    Raises ConfigError and SizeError.
    """
    value: int = torch_side("trace_sources").values_at(traced, path, quantity, given)
    return value


def ignored_at(traced: Trace, path: str) -> tuple[str, ...]:
    """Return the switches in another config.json that do not affect the stored parameters of the traced class."""
    found: tuple[str, ...] = torch_side("trace_sources").ignored_at(traced, path)
    return found


def torch_side(name: str = "certification") -> Any:
    """Import and return a module that needs torch. Raises WitnessError if that fails."""
    try:
        os.getcwd()
    except OSError:
        raise WitnessError("the working directory has been deleted; change to an existing one") from None
    try:
        return import_module(f".{name}", __name__)
    except ModuleNotFoundError as error:
        raise WitnessError(f"this needs {error.name}, which is not installed: {INSTALL}") from None
    except (ImportError, OSError) as error:  # installed but broken
        why = " ".join(str(error).split())[:160]
        raise WitnessError(f"cannot import torch or transformers ({why}); reinstall them: {INSTALL}") from None
