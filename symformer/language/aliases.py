"""Former names of attributes, methods and parameters. They keep working."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .errors import OptionError

P = ParamSpec("P")
R = TypeVar("R")


class Alias:
    """A former name of an attribute or a method.

    >>> class Sheet:
    ...     width = 210
    ...     breadth = Alias("width")
    >>> Sheet().breadth
    210
    """

    def __init__(self, new: str) -> None:
        self.new = new
        self.__doc__ = f"The former name of ``{new}``."

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Return the attribute with the new name; the alias itself if it is requested from the class."""
        return self if instance is None else getattr(instance, self.new)


def former(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function accept former names of its parameters.

    >>> @former(breadth="width")
    ... def area(width, height):
    ...     return width * height
    >>> area(breadth=210, height=297)
    62370
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **given: P.kwargs) -> R:
            for old, new in names.items():
                if old in given:
                    if new in given:
                        raise OptionError(f"{old} is the former name of {new}; give one of the two")
                    given[new] = given.pop(old)
            return function(*args, **given)

        return call

    return decorate
