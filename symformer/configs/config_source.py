"""Opening a config from a file, a folder, standard input, the Hub, or an object."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from ..language.errors import ConfigError
from ..language.sizes import format_value
from ..language.symbols import E, L, V, letter
from ..language.target import AnyTarget, Target, TargetKind, parse
from .common_fields import Config
from .config_fields import whole_number
from .config_json import read_config, read_object
from .layers import without_words
from .quantization import format_of, unquantized, unsupported_value
from .remote_code import check_class
from .rotary import positions, scaling

_TYPE = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)  # a name, not a path
# Pipeline components without parameters.
_NO_MODEL = re.compile(r"Scheduler|Tokenizer|Processor|FeatureExtractor|Guider|Watermark")
NEEDED = tuple(name for size in (V, E, L) for name in letter(size).config)  # never used for switches
OF_ALL_SORTS = {"ada_norm_zero": "DiTTransformer2DModel", "ada_norm_single": "PixArtTransformer2DModel"}  # by norm type


@dataclass(frozen=True)
class OpenedConfig:
    """A config before quantization, with its source and its quantization scheme."""

    config: dict[str, Any]
    commit: str = ""  # of the repository on the Hub
    unasked: str = ""  # why the latest commit was not requested from the Hub
    quantized: str = ""  # the quantization that the config states
    weights: str = ""  # the weight format of that quantization, or "" if it is not supported
    group: int = 0  # its elements per group, if it has groups
    unsupported: str = ""  # the field and the value for which the quantization is not supported, or ""
    rope: str = ""  # the type of scaling of the rotary frequencies, such as "llama3"
    positions: int = 0  # the positions that it states for all tokens, or 0

    @property
    def facts(self) -> dict[str, Any]:
        """Return the fields of a model's provenance."""
        names = ("commit", "unasked", "quantized", "weights", "group", "unsupported", "rope", "positions")
        return {name: getattr(self, name) for name in names}


def open_config(target: AnyTarget) -> OpenedConfig:
    """Return the config of a target.

    Parameters
    ----------
    target
        A path, a model id on the Hub, a mapping, or a config object or a model of transformers.

    Raises
    ------
    ConfigError
        If the config is malformed.
    FetchError
        If the Hub does not return the config.
    TargetError
        If an object is not a config.

    """
    named = parse(target)
    return config_of(named, target if isinstance(target, str) else named.name)


def config_of(target: Target, path: str) -> OpenedConfig:
    """Return the config of a parsed target at ``path``, a file or a folder. Raises ConfigError, FetchError."""
    if target.config is not None:
        return _sound(target.text, OpenedConfig(read_object(target.text, target.config)))
    if target.kind is not TargetKind.HUB:
        return _sound(path, OpenedConfig(read_config(path)))
    from .hub import fetch

    found = fetch(target.name, target.revision)
    return _sound(target.text, OpenedConfig(read_config(found.path), found.commit, found.unasked))


def _sound(target: str, found: OpenedConfig) -> OpenedConfig:
    """Check the class and basic sizes of a config, list its layers, remove its quantization. Raises ConfigError."""
    try:
        _hold(found.config)
        _hold_no_pipeline(found.config)
        stated = without_words(found.config)
        config, quantized = unquantized(check_class(stated))
        weights, group = format_of(stated)
        unsupported = unsupported_value(stated)
    except ConfigError as error:
        raise ConfigError(f"{target}: {error}") from None
    return replace(
        found,
        config=_named(config),
        quantized=quantized,
        weights=weights,
        group=group,
        unsupported=unsupported,
        rope=scaling(config),
        positions=positions(config),
    )


def _named(config: dict[str, Any]) -> dict[str, Any]:
    """Return a diffusers config with its ``_class_name`` copied to ``architectures``.

    ``Transformer2DModel`` was split into one class per norm type. Like diffusers, map its configs to the new classes.
    """
    match config:
        case {"_class_name": str(name)} if name.isidentifier() and not {"model_type", "architectures"} & config.keys():
            named = OF_ALL_SORTS.get(str(config.get("norm_type")), name) if name == "Transformer2DModel" else name
            return {**config, "architectures": [named]}
    return config


def _hold_no_pipeline(config: Config) -> None:
    """Raise ConfigError for the model_index.json of a diffusers pipeline, and list the folders of its models."""
    name = config.get("_class_name")
    if not isinstance(name, str) or "Pipeline" not in name:
        return
    parts: dict[str, str] = {}
    for folder, part in config.items():
        match part:
            case [str(), str(kind)] if not folder.startswith("_") and not _NO_MODEL.search(kind):
                parts[folder] = kind
    if not parts:
        raise ConfigError(f"{name} is a diffusers pipeline; give the config.json of one of its models")
    folders = ", ".join(f"{folder} ({kind})" for folder, kind in parts.items())
    raise ConfigError(f"{name} is a pipeline of several models; give one of its sub-folders: {folders}")


def _hold(config: Config) -> None:
    match config.get("model_type"):
        case None:
            pass  # the reader reports the supported types
        case str(name) if _TYPE.fullmatch(name):
            pass
        case other:
            raise ConfigError(
                f"'model_type' is {format_value(other)} in the config; it should be the name of a model type, such as "
                "'gpt2'"
            )
    match config.get("architectures"):
        case None:
            pass
        case [str(name)]:
            if not name.isidentifier():
                raise ConfigError(f"'architectures' names {format_value(name)}, which is not a class name")
        case other:
            raise ConfigError(
                f"'architectures' is {format_value(other)} in the config; it should be a list of one class name"
            )
    for name in NEEDED:
        if isinstance(config.get(name), int | float | str):  # the reader handles null and lists of stages
            whole_number(name, config[name])
