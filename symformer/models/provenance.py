"""The provenance of a model: whether it is built in or traced, its config fields, and its own sizes.

Documents and commands read only this object, so they are the same for every kind of target.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from sympy import Expr, Symbol

from ..language.aliases import Alias
from ..language.frozen import Immutable
from ..language.sizes import Numbers, Relations
from ..language.symbols import LETTERS, letter


@dataclass(frozen=True)
class ConfigLocation:
    """The config field of a size, or the argument of its class."""

    field: str
    less: str = ""  # another field, to subtract if this one is the sum of the two
    of: str = ""  # another size, if the field is a fraction or a multiple of it
    counted: str = ""  # the list entries that are counted, if the field is a list
    rule: str = ""  # how the class computes the size from the field, if it is not the field's value
    twins: tuple[str, ...] = ()  # other fields, which must have the same value
    null: Expr | None = None  # the value if the field is null, in terms of other sizes


def size_meaning(size: Symbol, place: ConfigLocation | None) -> str:
    """Return the meaning of the letter of a size, or of its config field if the alphabet lacks the letter."""
    if size.name in LETTERS or place is None:
        return letter(size).meaning
    from ..language.letter_rules import described  # only for models of the catalogue and traces

    return described(size, place.field)


@dataclass(frozen=True)
class Pinned:
    """A size that a trace keeps at one value, and the reason."""

    name: str
    value: int
    why: str
    line: str = ""  # the line of code that rejects every other value, or ""


TRACE_AGAIN = "trace the model at the other value instead"
_UNFIT = re.compile(r"(?:the (number)|axis (\d+)) of (\S+) is not a short sum of products of (.+)")
_CHANGED = re.compile(r"(\S+) has the shape \[.*\] at another depth, which matches no formula found so far")
_RAISED = re.compile(r"(?:Strict\w+: .*?: )?([A-Z]\w*: .*)")
_OTHERWISE = (
    "the code behaves differently there than at the sampled sizes",
    "for other values the code stores or multiplies something else",
    "at another value the class stores or does something else",
)


def fixed_reason(why: str) -> str:
    """Return the reason that a trace recorded for a fixed size as a clause for readers.

    >>> fixed_reason("axis 1 of h.0.w is not a short sum of products of A, B; its own value is 2")
    'no short formula in A, B gives the size of axis 1 of h.0.w for other values'
    >>> fixed_reason("the number of h.*.w is not a short sum of products of A, B")
    'no short formula in A, B gives the number of h.*.w for other values'
    >>> fixed_reason("h.0.w has the shape [5, 7] at another depth, which matches no formula found so far")
    'other values change h.0.w'
    >>> fixed_reason("RuntimeError: k not in range for dimension")
    'the code fails for other values (RuntimeError: k not in range for dimension)'
    """
    said = re.sub(r"; its own value is \d+$", "", why)
    if found := _UNFIT.fullmatch(said):
        number, axis, row, sizes = found.groups()
        return f"no short formula in {sizes} gives the {number or f'size of axis {axis}'} of {row} for other values"
    if found := _CHANGED.fullmatch(said):
        return f"other values change {found[1]}"
    if said in _OTHERWISE:
        return "other values change the weights or the computation"
    if said.startswith("WitnessError: "):
        return said.removeprefix("WitnessError: ")
    if found := _RAISED.fullmatch(said):
        return f"the code fails for other values ({found[1]})"
    return said


def runs_of_kinds(kinds: Iterable[str]) -> list[tuple[int, str]]:
    """Return each kind of layer with the number of times that it occurs in succession.

    >>> runs_of_kinds(["local", "local", "global"])
    [(2, 'local'), (1, 'global')]
    """
    return [(len(list(alike)), kind) for kind, alike in groupby(kinds)]


def fixed_note(pinned: Pinned) -> str:
    """Return the statement that a size is fixed, without the name of the size, for a sentence on it."""
    return f"is fixed at {pinned.value:,}" + (f", because {fixed_reason(pinned.why)}" if pinned.why else "")


def traced_only(value: int, why: str) -> str:
    """Return the message for another value of a size that a trace fixed."""
    reason = fixed_reason(why)
    said = f"the formula was traced at {value:,} and holds for no other value" + (f", because {reason}" if why else "")
    return said if ";" in reason else f"{said}; {TRACE_AGAIN}"


def libraries(versions: Mapping[str, str]) -> str:
    """Return libraries with their versions: ``torch 2.13.0, transformers 5.23.0``."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())


@dataclass(frozen=True)
class TraceEvidence(Immutable):
    """How a formula was traced and checked."""

    points: int  # the held-out random configs at which every row matched
    builds: int  # the total number of times that the model was built
    seed: int
    versions: Mapping[str, str]  # of the libraries that were run
    pinned: tuple[Pinned, ...] = ()
    ties: Mapping[str, str] = field(default_factory=dict)  # size -> the other size that it must equal
    ignored: tuple[str, ...] = ()  # config switches that do not affect the stored weights, with their values
    # For each list of layer kinds, the kinds that it repeats.
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unread: tuple[str, ...] = ()  # optional inputs that the run did not have, such as images or sound
    images: str = ""  # a note on the images that the run had in addition to tokens
    at_config: str = ""  # the comparison at the config itself: "row by row", "in all", or "" if there was none

    @property
    def input_notes(self) -> tuple[str, ...]:
        """Return notes on the inputs other than tokens, both given and omitted."""
        found = (self.images,) * bool(self.images)
        if not self.unread:
            return found
        return (*found, f"run without {', '.join(self.unread)}: operations on these inputs are not counted")


@dataclass(frozen=True, kw_only=True)
class Provenance(Immutable):
    """The source of a model's formulas, the config fields of its sizes, and the sizes and options of its target."""

    places: Mapping[str, ConfigLocation] = field(default_factory=dict)  # by letter
    numbers: Numbers = field(default_factory=dict)  # the sizes of the target itself, before any are set
    relations: Relations = field(default_factory=dict)  # the relations of the target itself
    options: Mapping[str, str] = field(default_factory=dict)  # the non-default options of the target itself
    by: str = ""  # the source: the catalogue or a trace; "" for a built-in model
    module: str = ""  # the version of torch, if the rows are the parameters of one module
    assumed: tuple[str, ...] = ()  # assumptions for what the config does not state
    commit: str = ""  # of the repository on the Hub from which the config was read
    unasked: str = ""  # why the config is from the cache without asking the Hub for a later commit
    quantized: str = ""  # the quantization stated in its config; its formulas describe the model before quantization
    weights: str = ""  # the format in which its weights are published, or "" if it is not known
    group: int = 0  # the elements per group of that format, if it has groups
    unsupported: str = ""  # the field and the value for which its quantization is not supported, or ""
    rope: str = ""  # the type of scaling of its rotary frequencies, such as "llama3"
    positions: int = 0  # the positions for all tokens that its config states, or 0 if they are not known
    layers: tuple[Symbol, ...] = ()  # the size that counts each layer, in order; () if the order is not known
    reading: TraceEvidence | None = None  # None for a built-in model, which certificates cover
    config: Mapping[str, int] = field(default_factory=dict)  # every integer of the traced config
    names: Mapping[str, str] = field(default_factory=dict)  # other names of its sizes, such as config fields -> letter
    # The provenance of one quantity, with the places of more letters.
    measured: Callable[[str, Collection[str]], Provenance] | None = field(default=None, compare=False)

    @property
    def from_torch(self) -> bool:
        """Return whether the rows were read from torch code, not composed of built-in parts."""
        return self.reading is not None or bool(self.module)

    @property
    def read_at(self) -> str:
        """Return the commit of its config as text, or "" if the config is not from the Hub."""
        asked = f", from the cache ({self.unasked})" if self.unasked else ""
        return f"commit {self.commit}{asked}" if self.commit else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on how the config was read."""
        stated = f"quantized by {self.quantized}; every formula describes the model before quantization"
        if self.weights:
            stated = (
                f"quantized by {self.quantized}: weights={self.weights} is the default where bytes of weights count; "
            )
            stated += "every other formula describes the model before quantization"
        return (*([stated] if self.quantized else []), *self.assumed)

    def for_quantity(self, quantity: str, also: Collection[str] = ()) -> Provenance:
        """Return the provenance of one quantity, with the places of the letters in ``also``."""
        return self.measured(quantity, also) if self.measured else self

    # Former names
    of = Alias("for_quantity")
