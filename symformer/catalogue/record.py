"""What is kept of a model that was read off its code, and the model that it opens as."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from ..components.base import Component
from ..language.errors import CatalogueError
from ..language.symbols import SYMBOLS, name_size
from ..models.model import Model
from ..models.provenance import Place, Provenance, Reading
from ..quantities import quantity as find_quantity
from .lifted import Lifted
from .traced import MEASURED, STORED, Traced

OPERATIONS = "operations"  # beside the quantities that torch is asked for, what answers all the others


@dataclass(frozen=True, kw_only=True)
class Record:
    """What one model of a class is known to store or do: for a quantity that torch was asked for, or as operations."""

    letters: Mapping[str, str]  # every field met -> its letter, in the order of choosing
    places: Mapping[str, Place] = field(default_factory=dict)  # of the letters that its formulas have
    reading: Reading | None = None
    traced: Traced | None = None
    lifted: Lifted | None = None
    config: Mapping[str, int] = field(default_factory=dict)  # every whole number of its config
    assumed: tuple[str, ...] = ()
    by: str = "trace"  # who knew it

    @property
    def counted(self) -> Traced:
        """What torch was seen to count. Raises CatalogueError for a record of operations."""
        if self.traced is None:
            raise CatalogueError("this record is of operations, and not of what torch was seen to count")
        return self.traced

    @property
    def operations(self) -> Lifted:
        """The operations. Raises CatalogueError for a record of what torch was seen to count."""
        if self.lifted is None:
            raise CatalogueError("this record is of what torch was seen to count, and not of operations")
        return self.lifted


Find = Callable[[str], Record]  # of a quantity, or of all operations


def opened(target: str, find: Find) -> Model:
    """The model whose records are found when they are asked for, with the numbers of its config."""
    first = find(STORED)

    def measure(quantity: str) -> Component:
        record = find(quantity)
        if record.traced is None:  # its operations, which torch was seen to count alike
            return record.operations.answering(find_quantity(quantity), {})
        return replace(record.traced, measure=measure, lifted=operations)

    def operations() -> Component:
        return find(OPERATIONS).operations

    def read(quantity: str, also: Collection[str] = ()) -> Provenance:
        seen = find_quantity(quantity).seen
        record = find(seen if seen in MEASURED else OPERATIONS)
        if record.traced is not None:
            places = {**(_places(find(OPERATIONS), also) if also else {}), **record.places}
        else:
            component = replace(record.operations, asked=quantity)
            asks = {str(size) for size in Model(target=target, component=component).formula(quantity).asks}
            places = _places(record, {*asks, *also})
        return Provenance(places=places, reading=record.reading, by=record.by, config=record.config)

    provenance = replace(read(STORED), config=first.config, assumed=first.assumed, measured=read)
    return Model(target=target, component=measure(STORED), provenance=provenance).sized(STORED).checked()


def _places(record: Record, letters: Collection[str]) -> dict[str, Place]:
    """Return the config fields of these letters, as far as a record has them."""
    return {letter: Place(name) for name, letter in record.letters.items() if letter in letters}


def stored_record(model: Model, letters: Mapping[str, str]) -> Record:
    """The record of a model that was traced for its parameters alone, with the letter of each of its sizes."""
    read = model.provenance
    return Record(
        letters=letters,
        places=read.places,
        reading=read.reading,
        traced=cast(Traced, model.component),
        config=read.config,
        assumed=read.assumed,
    )


def stored_model(target: str, record: Record) -> Model:
    """The model of a record of parameters alone, with the numbers of its config."""
    provenance = Provenance(
        places=record.places, reading=record.reading, by=record.by, config=record.config, assumed=record.assumed
    )
    return Model(target=target, component=record.counted, provenance=provenance).sized(STORED).checked()


def with_letters(letters: Mapping[str, str]) -> None:
    """Put the names of a record's sizes into the alphabet, which what is kept of them is read by."""
    for letter in letters.values():
        if letter not in SYMBOLS:
            name_size(letter)
