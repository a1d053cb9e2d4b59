"""The config fields that the code of a class may read: a field that no line of it names has no effect.

The names come from the source of the class, of its config class, and of all library modules that these import:
attributes of variables named like a config, quoted words, and all names in a config class.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from .inert_fields import FieldTrials
from .transformers_classes import TracedClass

LIBRARY = "transformers"
MODELS = f"{LIBRARY}.models."
AUTO = f"{MODELS}auto."  # names every model
CONFIGS = ("config", "cfg")


def fields_read_by(source: TracedClass) -> set[str]:
    """Return the names that a class and its config class may read from a config, without the library's common code."""
    return literal_names(source) | names_looked_up(source)


def literal_names(source: TracedClass) -> set[str]:
    """Return the names among these that occur literally in the code, not computed at run time."""
    own = (each for each in _modules(source) if each.startswith(MODELS) and not each.startswith(AUTO))
    return _named_in(own, source)


def common_names(source: TracedClass) -> set[str]:
    """Return the names that the library's common code may read from any config."""
    shared = (each for each in _modules(source) if not each.startswith(MODELS) or each.startswith(AUTO))
    return _named_in(shared, source)


def keyword_names(config_class: Any) -> set[str]:
    """Return the names that a config class takes from its keyword arguments without declaring them."""
    modules = (each.__module__ for each in config_class.__mro__ if each.__module__.startswith(MODELS))
    return {name for module in modules for name in _taken_in(module)} - {*dir(config_class)}


@cache
def _taken_in(module: str) -> frozenset[str]:
    """Return the quoted names that a module reads from ``kwargs``."""
    place = Path(str(sys.modules[module].__file__))
    found = set()
    for node in ast.walk(ast.parse(place.read_text("utf-8"))):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="kwargs")), args=[ast.Constant(value=str(name)), *_]):
                found.add(name)
            case ast.Subscript(value=ast.Name(id="kwargs"), slice=ast.Constant(value=str(name))):
                found.add(name)
    return frozenset(found)


def names_looked_up(source: TracedClass) -> set[str]:
    """Return the names that are looked up in a config while a model is built and run, including computed names."""
    from transformers import PretrainedConfig

    found: set[str] = set()
    plain = PretrainedConfig.__getattribute__

    def look(config: PretrainedConfig, name: str) -> Any:
        found.add(name)
        return plain(config, name)  # type: ignore[no-untyped-call]

    PretrainedConfig.__getattribute__ = look  # type: ignore[method-assign]
    try:
        FieldTrials(source).told({})
    finally:
        PretrainedConfig.__getattribute__ = plain  # type: ignore[method-assign]
    return {name for name in found if name[0].islower()}


def _named_in(modules: Iterable[str], source: TracedClass) -> set[str]:
    makers = {each.__module__ for each in source.config_class.__mro__}  # in these, the config is ``self``
    found = (name for module in modules for name in names(module, module in makers))
    return {name for name in found if name[0].islower()}


def _modules(source: TracedClass) -> Iterator[str]:
    """Yield the modules that define a class and its config class, and their imports from the library."""
    left = [each.__module__ for each in (*source.model_class.__mro__, *source.config_class.__mro__)]
    default = source.config({})
    for part in source.config_class.sub_configs:  # parts are built as models of their own
        module = type(getattr(default, part, None)).__module__
        if module.startswith(MODELS):
            left += [module, _loaded(module.replace(".configuration_", ".modeling_"))]
    seen: set[str] = set()
    while left:
        module = left.pop()
        if module in seen or not module.startswith(f"{LIBRARY}.") or module not in sys.modules:
            continue
        seen.add(module)
        yield module
        left += _imported(sys.modules[module])


def _loaded(module: str) -> str:
    with suppress(ImportError):  # an optional library is not installed
        import_module(module)
    return module


def _imported(module: ModuleType) -> list[str]:
    found = [getattr(each, "__module__", "") for each in vars(module).values()]
    return [each for each in found if isinstance(each, str)]


@cache
def names(module: str, whole: bool) -> frozenset[str]:
    """Return the names that a module may read from a config; all names if ``whole``, as for a config's own module."""
    place = Path(str(sys.modules[module].__file__))
    return frozenset(_named(ast.parse(place.read_text("utf-8")), whole))


def _named(tree: ast.AST, whole: bool) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=value, attr=attr) if whole or _config(value):
                yield attr
            case ast.Constant(value=str(word)) if word.isidentifier():
                yield word
            case ast.arg(arg=name) | ast.Name(id=name) if whole:
                yield name
            case ast.keyword(arg=str(name)) if whole:
                yield name


def _config(value: ast.expr) -> bool:
    """Return True if an expression is named like a config."""
    called = value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
    return any(word in called.lower() for word in CONFIGS)
