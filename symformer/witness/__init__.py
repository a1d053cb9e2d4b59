"""The torch side: the only place that imports torch. Models are built on the meta device, where size costs nothing."""

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
from ..language.target import AnyTarget, is_config
from ..models.model import Model

if TYPE_CHECKING:
    from ..catalogue.record import Find
    from .certify import Verdict
    from .results import Trace

Task = tuple[Model, str, Mapping[str, str]]  # a model, a quantity, and the way it is counted

INSTALL = "pip install torch transformers"  # which works wherever symformer itself comes from
FEW = 20  # checks that are done before another process would have started

build_offline()  # a model is built from its code alone


def verify(
    target: Model | AnyTarget, seed: int | None = None, quantity: str = "params", way: Mapping[str, str] | None = None
) -> Verdict:
    """Check a quantity of a model against its torch witness: a certificate, or what differs.

    Raises WitnessError where torch is missing or the target has no witness. ``seed`` repeats a run; ``way`` is one of
    the further conventions that :func:`provable` names.
    """
    verdict: Verdict = torch_side().verify(target, seed, quantity, way)
    return verdict


def verify_all(tasks: Sequence[Task], seed: int | None = None) -> list[Verdict]:
    """Many checks, in the order given; those of one model share its sessions, and models their cores."""
    models: dict[int, list[int]] = {}
    for place, (model, _, _) in enumerate(tasks):
        models.setdefault(id(model), []).append(place)
    groups = [[tasks[place] for place in places] for places in models.values()]
    workers = min(os.cpu_count() or 1, 8, len(groups))
    if workers == 1 or len(tasks) < FEW:
        found = [_of_one(group, seed) for group in groups]
    else:  # each worker imports torch for itself: a process that has used torch is not safe to fork
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            found = list(pool.map(_of_one, groups, [seed] * len(groups)))
    verdicts = zip((place for places in models.values() for place in places), chain.from_iterable(found), strict=True)
    return [verdict for _, verdict in sorted(verdicts, key=itemgetter(0))]


def _of_one(tasks: Sequence[Task], seed: int | None) -> list[Verdict]:
    found: list[Verdict] = torch_side().verify_many(tasks[0][0], [task[1:] for task in tasks], seed)
    return found


def provable(model: Model) -> list[tuple[str, Mapping[str, str]]]:
    """The quantities that the torch side of a model can settle, each with the conventions that it says beside torch's
    first ones. Raises WitnessError where torch is missing.
    """
    found: list[tuple[str, Mapping[str, str]]] = torch_side().provable(model)
    return found


def trace(
    build: Callable[..., Any] | AnyTarget,
    sizes: Mapping[str, int] | None = None,
    head: str = "",
    inputs: Callable[..., Any] | str = "",
) -> Trace:
    """Trace the closed forms of ``build(**sizes)``, an ``nn.Module``; of hf:MODEL_TYPE; of package:factory; or of a
    config: a local config.json, an id on the Hub, a mapping with its fields, or a config object of transformers.

    It runs the code it is given. ``inputs`` makes what a factory's model is called with, from the sizes that it names,
    B and S among them. ``.model.params`` is there at once; other quantities are traced when they are asked for, and
    ``.of(quantity)`` says what was checked. Raises WitnessError where no formula is found that holds at fresh random
    sizes.
    """
    found: Trace
    if isinstance(build, (str, os.PathLike)) or is_config(build):
        found = torch_side("sources").trace_target(build, sizes or {}, head, inputs)
    elif head:
        raise OptionError(f"head={head} is for models of transformers, and a factory has none")
    else:
        found = torch_side("sources").trace(build, sizes or {}, "", inputs or None)
    return found


def records(path: str, config: Mapping[str, Any]) -> Find:
    """What is read off the code of the class that a config names, which was read from a path, by quantity.

    Raises ConfigError, and WitnessError where no formula is found, or where torch is missing.
    """
    found: Find = torch_side("sources").records(path, config)
    return found


def trace_diffusion(path: str, config: Mapping[str, Any]) -> Trace:
    """The parameters of the diffusers class that a config names, at the config's numbers.

    Raises ConfigError, and WitnessError where no formula is found, or where torch or diffusers is missing.
    """
    found: Trace = torch_side("diffusion").trace_diffusion(config, path)
    return found


def values_at(traced: Trace, path: str, quantity: str = "params", given: Mapping[str, int] | None = None) -> int:
    """The value of a traced formula at another config.json and the sizes of a run. Raises ConfigError and SizeError."""
    value: int = torch_side("sources").values_at(traced, path, quantity, given)
    return value


def ignored_at(traced: Trace, path: str) -> tuple[str, ...]:
    """The switches that another config.json states and that change nothing that the class traced stores."""
    found: tuple[str, ...] = torch_side("sources").ignored_at(traced, path)
    return found


def torch_side(name: str = "certify") -> Any:
    """A module that imports torch. Raises WitnessError where that is not installed, or has no folder to start in."""
    try:
        os.getcwd()
    except OSError:
        raise WitnessError("the working directory has been deleted; change to an existing one") from None
    try:
        return import_module(f".{name}", __name__)
    except ModuleNotFoundError as error:
        raise WitnessError(f"{error.name} is not installed, and this needs it: {INSTALL}") from None
    except (ImportError, OSError) as error:  # installed, and broken
        why = " ".join(str(error).split())[:160]
        raise WitnessError(f"torch or transformers cannot be imported ({why}); install them again: {INSTALL}") from None
