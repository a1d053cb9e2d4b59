"""NumPy, which searches over many configs use, and what `solve` uses without it."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from ..language.errors import OptionError
from . import plain_arrays


def load_numpy() -> Any:
    """Return the module. Raises OptionError if it is not installed."""
    try:
        import numpy
    except ImportError:
        raise OptionError("this needs numpy; run pip install numpy, or pip install symformer[sweep]") from None
    return numpy


def array_namespace() -> Any:
    """Return numpy if it is installed, or else a module with the same functions for lists of Python integers."""
    return sys.modules.get("numpy") or _installed()


def has_numpy() -> bool:
    """Return whether ``array_namespace`` returns numpy."""
    return array_namespace() is not plain_arrays


@cache
def _installed() -> Any:
    """Return numpy or its replacement. Python searches all of its folders for a module that is not installed."""
    try:
        import numpy
    except ImportError:
        return plain_arrays
    return numpy
