"""Open a parsed target: check that its name exists, and read its config from a file, a folder or the Hub."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .. import architectures, components
from ..configs.config_source import OpenedConfig, config_of
from ..language.errors import FetchError, UnknownNameError
from ..language.target import COMPONENT, Target, TargetKind


@dataclass(frozen=True)
class OpenedTarget:
    """A target that exists, with its config if it has one."""

    target: Target
    config: OpenedConfig | None = None


def names() -> list[str]:
    """Return the names of all built-in targets, and of those that other packages register."""
    own = dict.fromkeys(architectures.all_names())
    return [*(own | dict.fromkeys(architectures.presets())), *(COMPONENT + name for name in components.all_names())]


def opened(target: Target) -> OpenedTarget:
    """Return a target with its config. Raises UnknownNameError, ConfigError, FetchError."""
    match target.kind:
        case TargetKind.NAME if not architectures.known(target.name):
            if not os.path.isdir(target.name):
                raise _unknown(target.name)
            return OpenedTarget(target, config_of(target, target.name))
        case TargetKind.CONFIG:
            return OpenedTarget(target, config_of(target, target.name))
        case TargetKind.HUB:
            try:
                return OpenedTarget(target, config_of(target, target.name))
            except FetchError as error:
                raise FetchError(f"{error}{_of_that_name(target)}") from None
    return OpenedTarget(target)


def _unknown(name: str) -> UnknownNameError:
    hint = "`symformer list` shows them all; for any other model, give its config.json or hf:MODEL_TYPE"
    if os.path.lexists(name):
        hint = f"to read the file, write ./{name}"
    return UnknownNameError("target", name, names(), hint)


def _of_that_name(target: Target) -> str:
    """Return a hint that names the preset of a Hub repository, by its id or by a similar name."""
    from difflib import get_close_matches

    if preset := architectures.preset_on_hub(target.name):
        return f"; or use the preset {preset}, which has its sizes: `symformer show {preset}`"
    called = target.name.rpartition("/")[2].lower()
    near = get_close_matches(called, [*architectures.presets(), *architectures.names()], n=1, cutoff=0.75)
    if called in near:
        return f"; {called} is built in: symformer show {called}"
    return f"; the preset with the nearest name is {near[0]}" if near else ""
