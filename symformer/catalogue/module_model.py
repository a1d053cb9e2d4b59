"""The model of a torch module with fixed sizes: its parameters are numbers, one row for each."""

from __future__ import annotations

from typing import Any

from sympy import Integer

from ..models.model import Model
from ..models.provenance import Provenance
from ..models.torch_modules import repeated, shapes_of, torch_version
from .measured_model import MeasuredModel


def fixed_model(target: str, title: str, module: Any) -> Model:
    """Return the model of a module: its parameters by row, as numbers.

    Parameters
    ----------
    target
        The name of the module, such as ``my_module:Mine``.
    title
        Its name in documents.
    module
        The module, on any device.

    Raises
    ------
    WitnessError
        If a parameter is not a plain tensor.

    """
    rows = repeated(shapes_of(module, title))
    counts = {(path, tuple(map(Integer, shape))): tuple(map(Integer, copies)) for (path, shape), copies in rows.items()}
    torch = f"torch {torch_version()}"
    component = MeasuredModel(title=title, stem=target.replace(":", "-"), counts=counts, fixed=torch)
    return Model(target=target, component=component, provenance=Provenance(module=torch))
