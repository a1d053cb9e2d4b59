"""Targets: the kind of a target is determined by its spelling, here and in the same way for every command."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Protocol, TypeGuard, runtime_checkable

from .errors import TargetError

COMPONENT, HF = "component:", "hf:"
CONFIG = ".json"

_HUB = re.compile(r"([A-Za-z0-9][\w.-]*/[\w.-]+)(?:@(.+))?", re.ASCII)
_FILE = re.compile(r"(.+\.py):(\w+)", re.DOTALL)  # a factory in a Python file: models/mine.py:gpt
_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))


@runtime_checkable
class ConfigObject(Protocol):
    """A ``PretrainedConfig`` of transformers, recognized by its attributes without importing transformers."""

    model_type: str

    def to_json_string(self) -> str:
        """Return the config.json that ``save_pretrained`` writes."""


# All types that functions accept as a target. A torch module is a callable, as are the functions and classes that build
# one, so torch is not imported to name its type.
AnyTarget = str | os.PathLike[str] | Mapping[str, Any] | ConfigObject | Callable[..., Any]
ACCEPTED = (
    "a name, a path, an id on the Hub, a mapping with the fields of a config.json, a PretrainedConfig, a torch module, "
    "or a function or class that builds one, with its sizes"
)
_MODULE = "torch.nn.modules.module.Module"
_PRETRAINED = "transformers.modeling_utils.PreTrainedModel"


class TargetKind(Enum):
    """The kinds of targets, with a phrase for messages."""

    NAME = "an architecture or a preset"  # looked up in the presets and architectures
    COMPONENT = "a component"
    CONFIG = "a config.json"
    HF = "a model type of transformers"
    FACTORY = "a factory"
    HUB = "a model on the Hub"
    MODULE = "a torch module"


@dataclass(frozen=True)
class Target:
    """A target with its kind: ``component:mlp`` is the component named ``mlp``."""

    text: str
    kind: TargetKind
    name: str  # the text without the prefix for its kind
    revision: str = ""  # branch, tag or commit of a model on the Hub
    config: Mapping[str, Any] | ConfigObject | None = field(
        default=None, compare=False
    )  # for a target given as an object
    built: Any = field(default=None, compare=False)  # the module, or the function or class that builds one

    def __str__(self) -> str:
        return self.text

    @property
    def config_name(self) -> str:
        """The name of its config in messages: the path of a file or a folder, or else the whole target."""
        return self.text if self.kind is TargetKind.HUB else self.name

    @property
    def refusal(self) -> str:
        """A message that a command does not accept this kind of target, with the command that does."""
        match self.kind:
            case TargetKind.FACTORY if self.built is not None:
                return f"{self.text} is a factory; pass symformer.model(factory, ...) with its sizes instead"
            case TargetKind.FACTORY:
                return f"{self.text!r} is a factory; use `symformer show`, with --set for each argument"
            case TargetKind.HF:
                return f"{self.text} is a model type of transformers; use `symformer trace {self.text}`"
            case TargetKind.COMPONENT:
                return f"{self.text} is built in and has no torch code to trace; use `symformer show {self.text}`"
            case TargetKind.NAME:
                return (
                    f"{self.text!r} does not name torch code; write hf:MODEL_TYPE for a model type of transformers, or "
                    f"use `symformer show {self.text}` for a built-in model"
                )
            case TargetKind.MODULE:
                return f"{self.text} is a torch module; pass symformer.model(module) instead"
            case TargetKind.CONFIG | TargetKind.HUB:
                return f"{self.text} is {self.kind.value}; use `symformer show`"


def parse(target: AnyTarget) -> Target:
    """Parse a target. The spelling of a string determines its kind; whether it exists is checked later.

    Parameters
    ----------
    target
        A string as on the command line; a ``pathlib.Path``, which is always a file or a folder; a mapping with the
        fields of a config.json; a config object of transformers; a torch module; or a function or a class that builds
        one. A model of transformers is the target of its config.

    Raises
    ------
    TargetError
        For any other object.

    Examples
    --------
    >>> parse("component:mlp").kind, parse("hf:gpt2").name, parse("torch.nn:Linear").kind.value
    (<TargetKind.COMPONENT: 'a component'>, 'gpt2', 'a factory')
    >>> parse("models/mine.py:gpt").kind.value, factory_of("models/mine.py:gpt")
    ('a factory', ('models/mine.py', 'gpt'))
    >>> parse("openai/gpt2@main").name, parse("openai/gpt2@main").revision
    ('openai/gpt2', 'main')
    >>> parse(PurePath("gpt2")).text, parse({"model_type": "gpt2"}).kind.value
    ('./gpt2', 'a config.json')

    """
    if not isinstance(target, str):
        return _of_object(target)
    text = target
    for prefix, kind in ((COMPONENT, TargetKind.COMPONENT), (HF, TargetKind.HF)):
        if text.startswith(prefix):
            return Target(text, kind, text.removeprefix(prefix))
    if text == "-":
        return Target(text, TargetKind.CONFIG, "/dev/stdin")
    if _FILE.fullmatch(text):
        return Target(text, TargetKind.FACTORY, text)
    if (named := _HUB.fullmatch(text)) and not text.endswith(CONFIG) and not os.path.lexists(text):
        return Target(text, TargetKind.HUB, named[1], named[2] or "")
    if text in (os.curdir, os.pardir) or text.endswith(CONFIG) or any(separator in text for separator in _SEPARATORS):
        return Target(text, TargetKind.CONFIG, text)
    return Target(text, TargetKind.FACTORY if ":" in text else TargetKind.NAME, text)


def factory_of(text: str) -> tuple[str, str]:
    """Return the module or file path of a factory, and its name."""
    where, _, name = text.rpartition(":")
    return where, name


def is_config(value: object) -> TypeGuard[Mapping[str, Any] | ConfigObject]:
    """Return whether an object is a config itself: a mapping, or a config object of transformers and not its class."""
    return isinstance(value, Mapping) or (isinstance(value, ConfigObject) and not isinstance(value, type))


def _of_object(target: object) -> Target:
    """Parse a target that is not a string. Raises TargetError."""
    if isinstance(target, os.PathLike):
        path = os.fsdecode(target)
        text = path if parse(path).kind is TargetKind.CONFIG and path != "-" else os.path.join(os.curdir, path)
        return Target(text, TargetKind.CONFIG, text)
    if is_module(target):
        return _of_module(target)
    if is_config(target):
        name = "config" if isinstance(target, Mapping) else type(target).__name__
        return Target(name, TargetKind.CONFIG, name, config=target)
    if is_factory(target):
        name = spelled(target)
        return Target(name, TargetKind.FACTORY, name, built=target)
    raise TargetError(_described(target))


def _of_module(module: Any) -> Target:
    """Return the target of a torch module: for a model of transformers its config, which names its class."""
    kind = type(module)
    config = getattr(module, "config", None)
    if _PRETRAINED in _bases(kind) and kind.__module__.startswith("transformers.") and is_config(config):
        fields = dict(config) if isinstance(config, Mapping) else json.loads(config.to_json_string())
        return Target(
            kind.__name__,
            TargetKind.CONFIG,
            kind.__name__,
            config={**fields, "architectures": [kind.__name__]},
            built=module,
        )
    name = spelled(kind)
    return Target(name, TargetKind.MODULE, name, built=module)


def _bases(kind: type) -> list[str]:
    return [f"{each.__module__}.{each.__qualname__}" for each in kind.__mro__]


def is_module(value: object) -> bool:
    """Return whether an object is a torch module, without importing torch."""
    return not isinstance(value, type) and _MODULE in _bases(type(value))


def is_factory(value: object) -> bool:
    """Return whether an object is a function, or a class of torch modules that is built from sizes."""
    if isinstance(value, type):
        bases = _bases(value)
        return _MODULE in bases and _PRETRAINED not in bases
    return isinstance(value, FunctionType | MethodType | BuiltinFunctionType | partial)


def spelled(built: Any) -> str:
    """Return the target of a function or a class: ``my_module:Mine``, or its name alone if it cannot be imported so."""
    name, where = getattr(built, "__qualname__", ""), getattr(built, "__module__", None)
    last = name.rpartition(".")[2]
    if not last.isidentifier():  # a lambda, or an object that is called
        return last.strip("<>") if last == "<lambda>" else type(built).__name__
    return f"{where}:{name}" if where and where != "__main__" and name == last else last


def _described(target: object) -> str:
    """Return a sentence on why an object is not a target and what to pass instead."""
    kind = type(target).__name__
    if isinstance(target, type) and isinstance(target, ConfigObject):
        return f"{target.__name__} is a config class; pass an instance, such as {target.__name__}()"
    if isinstance(target, type) and _PRETRAINED in _bases(target):
        config = getattr(getattr(target, "config_class", None), "__name__", "its config")
        return f"{target.__name__} is built from a config; pass the config, such as {config}(), or hf:MODEL_TYPE"
    if isinstance(target, type):
        return f"{target.__name__} is a class, but not of torch modules; pass {ACCEPTED}"
    return f"{repr(target)[:80]} ({kind}) is not a target; pass {ACCEPTED}"


def name_of(target: str) -> str:
    """Return a target's name without local folders: for a config.json its folder and file name, for a Hub model its id.

    >>> name_of("gpt2"), name_of("/home/ada/models/tiny/config.json"), name_of("./small.json")
    ('gpt2', 'tiny/config.json', 'small.json')
    >>> name_of("openai-community/gpt2"), name_of("../")
    ('openai-community/gpt2', 'config.json')
    """
    kind = parse(target).kind
    if kind is TargetKind.FACTORY:
        return PurePath(target).name
    if kind is not TargetKind.CONFIG:
        return target
    path = PurePath(target, *(["config.json"] if os.path.isdir(target) else []))
    beside = path.parent.name.strip(".") if path.name == "config.json" else ""
    return "/".join(filter(None, (beside, path.name)))
