"""Records of traced models, and the model that a set of records describes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import cast

from ..components.base import Component
from ..language.errors import CatalogueError, RuleError
from ..language.letter_rules import other_names
from ..ledger.facts import Ledger
from ..models.model import Model
from ..models.provenance import ConfigLocation, Provenance, TraceEvidence
from ..quantities import quantity as find_quantity
from .measured_model import MEASURED, STORED, MeasuredModel
from .recognized_model import RecognizedModel

OPERATIONS = "operations"  # the key of the record for all quantities that torch does not measure


@dataclass(frozen=True, kw_only=True)
class Record:
    """The traced formula of one quantity of a model, or its recognized operations."""

    letters: Mapping[str, str]  # every field met -> its letter, in the order of their choice
    places: Mapping[str, ConfigLocation] = field(default_factory=dict)  # letter of its formulas -> config field
    reading: TraceEvidence | None = None
    traced: MeasuredModel | None = None
    lifted: RecognizedModel | None = None
    config: Mapping[str, int] = field(default_factory=dict)  # every integer of its config
    assumed: tuple[str, ...] = ()
    by: str = "trace"  # the source of the record
    names: Mapping[str, str] = field(default_factory=dict)  # other names of the sizes of the class -> letter

    @property
    def counted(self) -> MeasuredModel:
        """Return torch's counts. Raises CatalogueError for a record of operations."""
        if self.traced is None:
            raise CatalogueError("this record contains operations, not torch's counts")
        return self.traced

    @property
    def operations(self) -> RecognizedModel:
        """Return the operations. Raises CatalogueError for a record of torch's counts."""
        if self.lifted is None:
            raise CatalogueError("this record contains torch's counts, not operations")
        return self.lifted


Find = Callable[[str], Record]  # from a quantity or OPERATIONS


def model_of_records(target: str, find: Find, stored: Find | None = None) -> Model:
    """Return the model of a set of records, with the sizes of its config. Records are found on first use.

    Parameters
    ----------
    target
        The target that names the model.
    find
        The function that finds its records, by quantity, if need be by a run.
    stored
        The function that finds those records that need no run.

    """
    first = find(STORED)

    def measure(quantity: str) -> Component:
        record = find(quantity)
        if record.traced is None:  # its operations, which torch confirmed
            return record.operations.for_quantity(find_quantity(quantity), {})
        return replace(record.traced, measure=measure, lifted=operations, stored_run=run if stored else None)

    def run() -> Ledger:
        return (stored or find)(OPERATIONS).operations.ledger

    def operations() -> Component:
        return find(OPERATIONS).operations

    def read(quantity: str, also: Collection[str] = ()) -> Provenance:
        seen = find_quantity(quantity).observed_quantity
        record = find(seen if seen in MEASURED else OPERATIONS)
        if record.traced is not None:
            places = {**(_places(find(OPERATIONS), also) if also else {}), **record.places}
        else:
            model = Model(target=target, component=replace(record.operations, asked=quantity))
            asks: set[str] = set()
            with suppress(RuleError):  # under the default conventions, and raised again if these are requested
                asks = {str(size) for size in model.formula(quantity).dependencies}
            places = _places(record, {*asks, *also})
        return Provenance(places=places, reading=record.reading, by=record.by, config=record.config)

    provenance = replace(read(STORED), config=first.config, assumed=first.assumed, measured=read, names=first.names)
    return Model(target=target, component=measure(STORED), provenance=provenance).with_sizes_for(STORED).validated()


def _places(record: Record, letters: Collection[str]) -> dict[str, ConfigLocation]:
    """Return the config fields of these letters that a record has."""
    return {letter: ConfigLocation(name) for name, letter in record.letters.items() if letter in letters}


def stored_record(model: Model, letters: Mapping[str, str]) -> Record:
    """Return the record of a model that was traced only for its parameters, with the letter of each of its sizes."""
    read = model.provenance
    return Record(
        letters=letters,
        places=read.places,
        reading=read.reading,
        traced=cast(MeasuredModel, model.component),
        config=read.config,
        assumed=read.assumed,
        names=other_names(letters),
    )


def stored_model(target: str, record: Record) -> Model:
    """Return the model of a record of parameters, with the sizes of its config."""
    provenance = Provenance(
        places=record.places,
        reading=record.reading,
        by=record.by,
        config=record.config,
        assumed=record.assumed,
        names=record.names,
    )
    return Model(target=target, component=record.counted, provenance=provenance).with_sizes_for(STORED).validated()
