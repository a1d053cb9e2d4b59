"""One class of the catalogue: its formulas without values, and the change that each switch makes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..catalogue.entries import CatalogueEntry, ConfigMatch, finder
from ..catalogue.measured_model import STORED
from ..catalogue.option_effects import OptionParams, option_effects
from ..catalogue.record import OPERATIONS, model_of_records
from ..formulas.formula import Formula
from ..language.errors import CatalogueError
from ..language.sizes import Condition, Equals
from ..models.provenance import TraceEvidence, fixed_note

SHOWN = ("params", "flops")  # the quantities shown for each class, if known


@dataclass(frozen=True)
class CatalogueClass:
    """The formulas of a class with its default switches."""

    formulas: Mapping[str, Formula]  # by quantity
    fields: Mapping[str, str]  # config fields, by letter
    conditions: Sequence[Condition]  # under which its formulas hold, in addition to fixed sizes
    readings: Mapping[str, TraceEvidence]  # of each formula
    refusals: Mapping[str, str]  # the quantities that its operations do not answer, and why
    switches: Sequence[OptionParams]


def fixed_sizes(found: CatalogueClass) -> Iterator[tuple[str, str, str]]:
    """Yield the sizes that are fixed or that follow another size, as a prefix, a field and the rest of a sentence.

    The prefix names the formula if only one is affected. Inputs that the class was run without have no field.
    """
    told: set[tuple[str, str]] = set()
    for name, reading in found.readings.items():
        only = "" if name == STORED else f"in {found.formulas[name].measure.letter}, "
        said = [(each.name, f" {fixed_note(each)}") for each in reading.pinned]
        said += [
            (size, f" is always {other}: the code supports no other value") for size, other in reading.ties.items()
        ]
        yield from ((only, size, why) for size, why in said if (size, _stated(why)) not in told)
        told |= {(size, _stated(why)) for size, why in said}
        yield from (("", "", each) for each in reading.input_notes)


def _stated(why: str) -> str:
    """Return a statement without its reason, which can differ from one formula to the next."""
    return re.split(r":|, because ", why, maxsplit=1)[0]


def catalogue_class(kept: CatalogueEntry) -> CatalogueClass:
    """Return the formulas, fields and switches of a class. Raises CatalogueError."""
    find = finder(kept, ConfigMatch({}))
    model = model_of_records(kept.config.name, find)
    formulas: dict[str, Formula] = {}
    fields: dict[str, str] = {}
    for quantity in SHOWN:
        with suppress(CatalogueError):
            formulas[quantity] = model.formula(quantity)
            fields |= {letter: place.field for letter, place in model.provenance.for_quantity(quantity).places.items()}
    operations = find(OPERATIONS).operations if OPERATIONS in kept.records else None
    conditions = [*find(STORED).counted.constraints, *(operations.constraints if operations else ())]
    return CatalogueClass(
        formulas=formulas,
        fields=fields,
        conditions=tuple(dict.fromkeys(each for each in conditions if not isinstance(each, Equals))),
        readings={
            name: reading for name in formulas if (reading := model.provenance.for_quantity(name).reading) is not None
        },
        refusals=operations.refusals if operations else {},
        switches=option_effects(kept),
    )
