"""NumPy, which the searches over many configs need."""

from __future__ import annotations

from typing import Any

from ..language.errors import OptionError


def load_numpy() -> Any:
    """Return the module. Raises OptionError if it is not installed."""
    try:
        import numpy
    except ImportError:
        raise OptionError("this needs numpy; run pip install numpy, or pip install symformer[sweep]") from None
    return numpy
