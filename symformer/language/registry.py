"""A registry of classes: a folder with one class per file, named like the file with hyphens for underscores."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from typing import Generic, TypeVar

from .errors import SymformerError, UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """The classes of a package, each imported on first use."""

    def __init__(self, package: str, folder: str, base: type[T]) -> None:
        self.package = package
        self.base = base
        found = sorted(
            path
            for path in Path(folder).glob("*.py")
            if path.stem not in ("__init__", base.__module__.rpartition(".")[2])
        )
        self.files = {path.stem.replace("_", "-"): path for path in found}
        self.names = sorted(self.files)
        self.load = cache(self._load)

    def _load(self, name: str) -> type[T]:
        if name not in self.names:
            raise UnknownNameError(self.base.__name__.lower(), name, self.names)
        module = f"{self.package}.{name.replace('-', '_')}"
        found = [
            item
            for item in vars(import_module(module)).values()
            if isinstance(item, type) and issubclass(item, self.base) and item.__module__ == module
        ]
        concrete = [item for item in found if not isabstract(item)]
        if len(concrete) != 1:
            raise SymformerError(f"{module} should define one {self.base.__name__}; it defines {len(concrete)}")
        return concrete[0]
