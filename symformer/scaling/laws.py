"""The scaling laws by name."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ..language.errors import UnknownNameError
from .allocation_law import AllocationLaw
from .repeated_data_law import RepeatedDataLaw
from .scaling_law import GranularLaw, ParametricLaw, RoutedLaw, ScalingLaw

_FORMS: dict[str, type[ScalingLaw]] = {
    law.form: law for law in (ParametricLaw, RepeatedDataLaw, GranularLaw, RoutedLaw, AllocationLaw)
}
DEFAULT = "hoffmann2022"
NICKNAMES = {"chinchilla": "hoffmann"}  # other names of a paper, in lower case


def scaling_law(name: str) -> ScalingLaw:
    """Return a scaling law.

    Parameters
    ----------
    name
        The name of the law: the key of its paper, such as ``"besiroglu2024"``, and a suffix if the paper has several.

    Returns
    -------
    ScalingLaw
        The law with its constants. A law of the loss has ``loss(parameters, tokens)``.

    Raises
    ------
    UnknownNameError
        If there is no such law; the message lists the laws.

    Examples
    --------
    >>> import symformer as sf
    >>> sf.scaling_law("besiroglu2024").constants["beta"]
    0.3658

    """
    found = _laws()
    if name not in found:
        word = NICKNAMES.get(name.lower(), name.lower())
        meant = [key for key, law in found.items() if word in f"{key} {law.title.lower()}"] if word else []
        raise UnknownNameError("scaling law", name, meant or found)
    return found[name]


def scaling_laws() -> tuple[str, ...]:
    """Return the names of the scaling laws, the oldest first.

    >>> scaling_laws()[:2]
    ('kaplan2020', 'hoffmann2022')
    """
    return tuple(_laws())


@cache
def _laws() -> dict[str, ScalingLaw]:
    data = json.loads(files(__package__).joinpath("laws.json").read_text("utf-8"))
    return {name: _law(name, row) for name, row in data.items()}


def _law(name: str, row: dict[str, Any]) -> ScalingLaw:
    own = {key: row[key] for key in ("title", "paper", "where", "parameters", "flops", "constants")}
    own |= {key: row[key] for key in ("budget_unit", "unit_name", "interval") if key in row}
    uncertainty = {
        key: tuple(each) if isinstance(each, list) else each for key, each in row.get("uncertainty", {}).items()
    }
    return _FORMS[row["form"]](
        name=name,
        **own,
        uncertainty=uncertainty,
        fitted_range={key: tuple(each) for key, each in row.get("range", {}).items()},
        notes=tuple(row.get("notes", ())),
    )
