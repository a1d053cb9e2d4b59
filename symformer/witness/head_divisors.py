"""Numbers of heads that must divide a width, and head dimensions that must be even, in the code of a class.

A formula is traced at sizes that the code accepts, so the sizes that it rejects never contradict the formula. The
catalogue answers without building the class, so its formulas need these conditions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from sympy import Integer

from ..catalogue.codec import to_data
from ..catalogue.entries import field_name, letters_of, part_of, read
from ..catalogue.measured_model import STORED
from ..catalogue.record import OPERATIONS
from ..language.letter_rules import letters_of_fields
from ..language.sizes import Condition, Divides, Equals
from ..language.symbols import named_symbol
from ..ledger.facts import OperationKind
from ..models.provenance import traced_only
from .inert_fields import FieldTrials
from .sampling import DEEP, ENTRY, POSITIONS, divides

REJECTED, BUILT, RUN = range(3)  # how far the class gets with a config
WIDTH = re.compile(r"(hidden_sizes?|hidden_dim|d_model|n_embd|embed_dims?|^dim|width|channels)(\[\d+\])?$")
NAME = re.compile(r"[A-Za-z_][\w.\[\]]*")
ROTARY = re.compile(r"head_dim$|rope.*dim$")


@dataclass(frozen=True)
class HeadDivisor:
    """The condition that a number of heads, or 2, divides a size."""

    heads: str  # the field, or "" for 2
    whole: str
    builds: bool  # whether the class can be built otherwise, but not run


@dataclass
class HeadDivisors:
    """Tests of one class's numbers of heads.

    Parameters
    ----------
    trials
        The class.
    sizes
        The fields that are sizes in its formulas.
    few
        The sizes of a small model, such as its number of layers.
    runs
        Whether to run the class too, or only to build it.
    wrong
        A function that returns whether the formulas are wrong at some sizes; these count as rejected.
    ties
        The sizes that the class accepts only if they equal another one.

    """

    trials: FieldTrials
    sizes: tuple[str, ...]
    few: Mapping[str, Any]
    runs: bool
    wrong: Callable[[Mapping[str, Any]], bool] = lambda point: False
    ties: Mapping[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)  # the heads with a condition, and the size that they divide

    def found(self) -> Iterator[HeadDivisor]:
        """Yield the conditions."""
        self.numbers = self.trials.placing.start
        self.usual = self._level({})
        prime = next(n for n in count(5, 2) if all(number % n for number in self.numbers.values()))
        names = sorted(filter(divides, self.numbers), key=lambda name: -self.numbers[name])  # before their groups
        for name in names if self.usual != REJECTED else ():
            both = {each: prime for each in names if part_of(each) == part_of(name) and not ENTRY.search(each)}
            for heads in ({name: prime}, {**both, name: prime}, {name: self.numbers[name] * prime}):
                if (bad := self._level(heads)) == self.usual:
                    break
                if whole := self._whole(name, heads, bad, prime):
                    self.known[name] = whole
                    yield HeadDivisor(name, whole, bad == BUILT)
                    break
        for name in self.sizes:
            if ROTARY.search(name) and name in self.numbers and (bad := self._odd(name)) < self.usual != REJECTED:
                yield HeadDivisor("", name, bad == BUILT)

    def _whole(self, name: str, heads: Mapping[str, int], bad: int, prime: int) -> str:
        """Return the size that must be a multiple of some heads, or "" if there is none."""
        for other in self._offered(name, heads):
            size = self.numbers[other]
            beyond = self._width(other) if divides(other) else ""  # a width that the other heads divide
            wide = {beyond: self.numbers[beyond] * 2 * prime * (prime + 1) * (prime + 2)} if beyond else {}

            def level(times: int, other: str = other, size: int = size, wide: Mapping[str, int] = wide) -> int:
                return self._level({**heads, **wide, other: size * times}, bad != REJECTED)

            good = BUILT if bad == REJECTED else self.usual  # a class that rejects a config need not be run
            if all(level(prime * more) >= good for more in (1, 2)) and all(
                level(prime + more) == bad for more in (1, 2)
            ):
                return other
        return ""

    def _width(self, heads: str) -> str:
        """Return the size that heads divide, or else a width of the same part, or ""."""
        among = (each for each in self.sizes if each in self.numbers and part_of(each) == part_of(heads))
        return self.known.get(heads) or next((each for each in among if WIDTH.search(field_name(each))), "")

    def _offered(self, name: str, heads: Mapping[str, int]) -> list[str]:
        """Return the sizes that heads may have to divide, the most likely ones first."""
        entry = ENTRY.search(name)

        def rank(other: str) -> tuple[bool, ...]:
            here = ENTRY.search(other)
            same = (here[1] if here else "") == (entry[1] if entry else "")
            return part_of(other) != part_of(name), not same, not WIDTH.search(field_name(other)), not divides(other)

        never = re.compile(f"{DEEP.pattern}|vocab|{POSITIONS.pattern}")
        others = (each for each in self.sizes if each in self.numbers and each not in heads)
        return sorted((each for each in others if not never.search(field_name(each))), key=rank)

    def _odd(self, name: str) -> int:
        """Return how far the class gets with odd values of a size, or RUN if it does not differ from even ones."""
        size = self.numbers[name]
        odd = {self._level({name: size + more}) for more in (1, 3)}
        even = {self._level({name: size + more}) for more in (2, 6)} if size % 2 == 0 and len(odd) == 1 else set()
        return min(odd) if even == {self.usual} else RUN

    def _level(self, changed: Mapping[str, int], run: bool = True) -> int:
        """Return how far the class gets with these sizes. It is run only if it can be built."""
        tied = {name: changed[other] for name, other in self.ties.items() if other in changed}
        point = self.trials.filled({**self.few, **tied, **changed})
        if self.trials.stored(point) is None or self.wrong(point):
            return REJECTED
        return RUN if run and self.runs and self.trials.runs(point) else BUILT


def equal_sizes(records: Mapping[str, Any]) -> dict[str, str]:
    """Return the sizes of traced records that must equal another size, with this size."""
    found = dict[str, str]()
    for record in records.values():
        found |= {name: other for name, other in record["reading"].get("ties", {}).items() if NAME.fullmatch(other)}
    return found


def grouped_heads(records: Mapping[str, Any]) -> Iterator[HeadDivisor]:
    """Yield the conditions of the products in which equal groups of query heads share the keys of one head."""
    operations = records.get(OPERATIONS, {"letters": {}})
    fields = {letter: name for name, letter in operations["letters"].items()}
    for _, row in operations.get("lifted", {}).get("rows", ()):
        if row["kind"] == OperationKind.SCORES.value:
            query, key = (tensor["shape"][1] for tensor in row["inputs"][:2])
            if query != key and query in fields and key in fields:
                yield HeadDivisor(fields[key], fields[query], builds=True)


def with_head_divisors(data: Mapping[str, Any], trials: FieldTrials, found: Iterable[HeadDivisor]) -> dict[str, Any]:
    """Return an entry as data with these conditions in its records.

    A number of heads that has no effect on any formula becomes a size, because its value now matters. It stays a field
    without effect if its default depends on other sizes.
    """
    entry, switches = dict(data["config"]), dict(data["switches"])
    records = dict(data["records"])
    turns = [
        {**turn, "records": {name: dict(each) for name, each in turn["records"].items()}}
        for turn in data["option_effects"]
    ]
    usual = dict(letters_of(read(data)))
    for each in found:
        heads, sizes = each.heads, entry["sizes"]
        if heads in switches and type(switches[heads]) is not int:
            continue
        unknown = heads in entry.get("inert_for_params", {})  # the effect of other values on a run is not known
        if heads and heads not in sizes and (unknown or heads not in switches):
            if not _constant(trials, heads, sizes):
                continue
            switches.pop(heads, None)
            entry["sizes"] = {**sizes, heads: trials.usual[heads]}
            if part_of(heads) and not _usual_in_part(trials, heads, each.whole):
                entry["required"] = [*entry.get("required", ()), heads]
            for kind in ("inert", "inert_for_params"):
                entry[kind] = {name: sort for name, sort in entry.get(kind, {}).items() if name != heads}
        among = (records, *(turn["records"] for turn in turns))
        if unknown:
            number = trials.usual[heads]
            fixed = _Asked((heads,), partial(Equals, value=Integer(number), because=traced_only(number, "")))
            for known in among:
                if OPERATIONS in known:
                    known[OPERATIONS] = fixed.added(known[OPERATIONS], usual)
        if heads and heads not in switches:
            asked = _Asked((heads, each.whole), Divides)
        else:
            asked = _Asked((each.whole,), partial(Divides, Integer(switches.get(heads, 2))))
        for known in among:
            for name in (STORED, OPERATIONS) if not each.builds else (OPERATIONS,):
                if name in known:
                    known[name] = asked.added(known[name], usual)
    entry = {name: value for name, value in entry.items() if value or name in data["config"]}
    return {**data, "config": entry, "switches": switches, "records": records, "option_effects": turns}


def _constant(trials: FieldTrials, name: str, sizes: Mapping[str, int]) -> bool:
    """Return True if the default of a field does not depend on any size."""
    for size, number in sizes.items():
        with suppress(Exception):  # any error of the config class
            if trials.said({size: 2 * number}).get(name) != trials.said({size: number}).get(name):
                return False
    return name in trials.usual


def _usual_in_part(trials: FieldTrials, name: str, other: str) -> bool:
    """Return True if a field has its default also in a part that is given with only another field."""
    with suppress(Exception):  # any error of the config class
        return bool(trials.said({other: trials.usual[other]}).get(name) == trials.usual[name])
    return False


@dataclass(frozen=True)
class _Asked:
    """A condition on some fields."""

    names: tuple[str, ...]
    made: Callable[..., Condition]  # from their letters

    def added(self, record: Mapping[str, Any], usual: dict[str, str]) -> dict[str, Any]:
        """Return a record with the condition, and with the letters of the fields, the same in all records."""
        named, places = dict(record["letters"]), dict(record.get("places", {}))
        for name in self.names:
            if name not in named:
                free = usual.get(name) if usual.get(name) not in named.values() else None
                named[name] = free or _letter(name, named)
                usual.setdefault(name, named[name])
            places.setdefault(named[name], {"field": name})
        condition = to_data(self.made(*(named_symbol(named[name]) for name in self.names)))
        kind = "traced" if "traced" in record else "lifted"
        known = record[kind].get("conditions", [])
        if any({**condition, "remedy": ""} == {**other, "remedy": ""} for other in known):
            return dict(record)
        # The fields of a record are in the order of its class.
        formula = {word: value for word, value in record[kind].items() if word in ("title", "stem", "counts", "rows")}
        formula |= {"conditions": [*known, condition]}
        return {**record, "letters": named, "places": places, kind: formula | {**record[kind], **formula}}


def _letter(name: str, known: Mapping[str, str]) -> str:
    """Return an unused letter for a size."""
    found = letters_of_fields([*known, name])[name]
    return found if found not in known.values() else name.replace(".", "_") + "_"
