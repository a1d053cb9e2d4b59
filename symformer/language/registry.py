"""A registry of classes: a folder with one class per file, named like the file with hyphens for underscores."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.resources import files
from inspect import isabstract
from typing import Generic, TypeVar

from .errors import SymformerError, UnknownNameError
from .plugins import Plugins

T = TypeVar("T")


class Registry(Generic[T]):
    """The classes of a package, each imported on first use, and those that other packages register."""

    def __init__(self, package: str, base: type[T]) -> None:
        self.package = package
        self.base = base
        self.plugins = Plugins(package.rpartition(".")[2], base)
        other = ("__init__.py", f"{base.__module__.rpartition('.')[2]}.py")
        modules = [
            place for place in files(package).iterdir() if place.name.endswith(".py") and place.name not in other
        ]
        # The file of each built-in class, by name.
        self.files = {
            place.name.removesuffix(".py").replace("_", "-"): place
            for place in sorted(modules, key=lambda place: place.name)
        }
        self.names = sorted(self.files)
        self.load = cache(self._load)

    def __contains__(self, name: str) -> bool:
        """Return whether there is a class with a name, built in or registered by another package."""
        return name in self.names or name in self.plugins.names()

    @property
    def all_names(self) -> list[str]:
        """The names of all classes, the built-in ones first."""
        return [*self.names, *(name for name in self.plugins.names() if name not in self.names)]

    def _load(self, name: str) -> type[T]:
        if name not in self.names:
            registered: type[T] | None = self.plugins.load(name)
            if registered is None:
                raise UnknownNameError(self.base.__name__.lower(), name, self.all_names)
            return registered
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
