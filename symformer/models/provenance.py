"""Where a model comes from: composed from parts or read off its code, and which sizes are its own. One object, as data.

Documents and commands ask it, and nobody asks which door a model came through.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from ..language.frozen import Immutable
from ..language.sizes import Numbers, Relations


@dataclass(frozen=True)
class Place:
    """Where a size stands in a model's config, or which argument of its class it is."""

    field: str
    less: str = ""  # another field, where this one holds the sum of the two
    of: str = ""  # another size, where the field holds which part of it this one is
    counted: str = ""  # of a list, the entries that are counted


@dataclass(frozen=True)
class Pinned:
    """A size that a trace keeps at a number, and why."""

    name: str
    value: int
    why: str
    line: str = ""  # the line of code that refused every other number, if one did


@dataclass(frozen=True)
class Reading(Immutable):
    """How a formula was read off code, and against what it was held."""

    points: int  # random configs that played no part in finding it, at which every row was as predicted
    builds: int  # of the model, in all
    seed: int
    versions: Mapping[str, str]  # of the libraries that were run
    pinned: tuple[Pinned, ...] = ()
    ties: Mapping[str, str] = field(default_factory=dict)  # a size that the code takes only where it is another
    ignored: tuple[str, ...] = ()  # switches of the config that change nothing that the class stores, with their values
    unread: tuple[str, ...] = ()  # what the class may read too, pictures or sound, and was not given when it ran
    images: str = ""  # what there is to say of images, where it read some with its tokens
    at_config: str = ""  # what was equal at the config itself: "row by row", "in all", or "" if not compared

    @property
    def beside(self) -> tuple[str, ...]:
        """What there is to say of what the class reads beside tokens, or may read and was not given."""
        found = (self.images,) * bool(self.images)
        if not self.unread:
            return found
        return (*found, f"run without {', '.join(self.unread)}: what the class does with these is not counted")


@dataclass(frozen=True, kw_only=True)
class Provenance(Immutable):
    """Where a model's formulas come from, where a config has its sizes, and what its name stands for."""

    places: Mapping[str, Place] = field(default_factory=dict)  # by letter
    numbers: Numbers = field(default_factory=dict)  # the sizes that the target has by its name or its file
    relations: Relations = field(default_factory=dict)  # and the relations between them
    options: Mapping[str, str] = field(default_factory=dict)  # and its options, where they are not the usual ones
    by: str = ""  # who knew it: the catalogue, or a trace; "" for a model composed from parts
    assumed: tuple[str, ...] = ()  # what its file does not say, and how it was read then
    commit: str = ""  # of the repository on the Hub that its config was read from
    unasked: str = ""  # why the cache answered, and not the Hub, where there may be a later one
    quantized: str = ""  # the quantization stated in its config; its formulas describe the model before quantization
    reading: Reading | None = None  # None for a model composed from parts, which certificates speak for
    config: Mapping[str, int] = field(default_factory=dict)  # every whole number of the config that it was read off
    # The same for one quantity, with the places of more letters.
    measured: Callable[[str, Collection[str]], Provenance] | None = field(default=None, compare=False)

    @property
    def read_at(self) -> str:
        """Which commit its config is of, for a sentence; "" for a model whose config is no file of the Hub's."""
        asked = f", as the cache has it: {self.unasked}" if self.unasked else ""
        return f"commit {self.commit}{asked}" if self.commit else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how the config was read."""
        stated = f"quantized by {self.quantized}; every formula describes the model before quantization"
        return (*([stated] if self.quantized else []), *self.assumed)

    def of(self, quantity: str, also: Collection[str] = ()) -> Provenance:
        """Where the formula of one quantity comes from, with the places of the letters in ``also``."""
        return self.measured(quantity, also) if self.measured else self
