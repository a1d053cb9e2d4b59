"""The parameters of a catalogue class for every setting of its switches: the default, and what each switch adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Add, Expr, expand

from ..language.errors import CatalogueError
from .entries import CatalogueEntry, record
from .measured_model import STORED


@dataclass(frozen=True)
class OptionParams:
    """The parameters that a set of switches adds, in addition to those that each of them adds alone."""

    fields: Mapping[str, Any]
    adds: Expr | None  # None if not known

    @property
    def said(self) -> str:
        """Return the switches and their values in a config."""
        return ", ".join(f"{name}={str(value).lower()}" for name, value in self.fields.items())


def option_effects(kept: CatalogueEntry) -> list[OptionParams]:
    """Return the parameters that the switches of a class add to the default. Raises CatalogueError."""
    usual = _stored(kept, ())
    found: list[OptionParams] = []
    for place, turn in enumerate(kept.option_effects):
        alone = [each for each in found if each.fields.keys() < turn.fields.keys()]
        try:
            adds = _stored(kept, (place,)) - Add(usual, *(each.adds for each in alone if each.adds is not None))
        except CatalogueError:
            found.append(OptionParams(turn.fields, None))
            continue
        if len(turn.fields) == 1 or adds != 0:
            found.append(OptionParams(turn.fields, expand(adds)))
    return found


def _stored(kept: CatalogueEntry, turned: tuple[int, ...]) -> Expr:
    known = record(kept, turned, STORED)
    if known is None:
        raise CatalogueError(f"the combined effect of these switches of {kept.config.name} is not known")
    return known.counted.total
