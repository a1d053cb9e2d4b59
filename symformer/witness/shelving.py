"""Entries of the catalogue: what a class is known to store and do, as it usually is and with each switch turned.

Which fields change nothing is found by trial. What several switches change together is what each changes by itself,
added up, where torch says so; and an entry is held to torch at random configs before it is kept.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from time import process_time
from typing import Any, cast

from sympy import Expr, Integer, Symbol, floor

from ..catalogue.codec import to_data
from ..catalogue.merging import short
from ..catalogue.record import OPERATIONS, Record
from ..catalogue.shelf import BESIDE, EACH, HEAD, HOLDS, Shelved, last, letters_of, part_of, read
from ..catalogue.store import versions
from ..catalogue.traced import STORED, Traced
from ..configs.known import INERT
from ..language.errors import SymformerError, WitnessError
from ..language.sizes import put_in
from ..language.symbols import SYMBOLS
from ..models.provenance import Reading
from .asking import asked, common
from .classes import Source
from .drawing import DEEP, ENTRY, usual
from .field_names import named
from .field_sorts import PARTIAL, FieldSorts, sorts
from .placing import PLACES, whole_numbers
from .proving import Proving
from .results import Trace
from .settling import star
from .sources import records_in, trace_source
from .trying import OLDER, ROTARY, Trials, holds, lists
from .variants import COUNTED, Variant, cut, deep, ending, indexed, paths, spellings

BIASED = {"mm", "addmm"}  # a product, and one to which a bias is added
WIDTH = ("hidden_size", "num_attention_heads")  # of which the width of a head is by custom the quotient
HEADS = (24, 40, 64)  # widths of a head at which that is tried
FEW = 6  # layers of a trial: more tell no more of a field whose own value is tried from 1 up
DEPTHS = (1, 2, 3, 5, 6, 7, 8)  # at which a list of layers shows whether it repeats a pattern
TRIALS = 8  # draws of all sizes, in which a size that follows from others shows which
TIMES = (2, 3, 4, 6)  # what each size is then multiplied by: quotients stay whole
PATIENCE = 400  # seconds of this process for what a structure stores: nobody waits for a census
TURNING = 240  # seconds of this process after which no further switch is read
MOST = 8  # switches that meet in pairs are read in pairs, so many of these at most

Structure = tuple[Mapping[str, Any], Mapping[str, Record]]  # the switches that are turned, and the records


class Shelving:
    """The entry of one class."""

    def __init__(self, source: Source, target: str) -> None:
        self.source, self.target = source, target
        self.trials = Trials(source)
        self.given = self._given()
        self.usual = self.trials.usual | self.given
        self.numbers = whole_numbers(self.trials.config(self.given))
        self.proving = Proving(source, self.trials, self.given)
        self.traced: Trace | None = None  # as it usually is
        self.depths: dict[str, str] = {}  # by part, the field that says how many layers it has, where that is a size
        self.until = 0.0  # of this process's time, when no further switch is read
        self.unrun = ""  # why nothing is known of what it does, where that is so
        self.left: dict[str, str] = {}  # what was left out, and why

    def kept(self) -> dict[str, Any]:
        """The entry, as a file holds it. Raises WitnessError where there is no formula, or it is wrong."""
        known = self._records({})
        self.until = process_time() + TURNING
        turns = [turn for name in self._switches() if (turn := self._turn({name: not self.usual[name]}, known))]
        try:
            return self.again(self._proved(known, turns))
        except WitnessError as error:
            if OPERATIONS not in known:
                raise
            self.left[f"{self.source.name}, its operations"] = self.unrun = str(error)
        stored: list[Structure] = [(fields, {STORED: records[STORED]}) for fields, records in turns]
        return self.again(self._proved({STORED: known[STORED]}, stored))

    def again(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """An entry with what is found out about every field by trial. Raises WitnessError where it is wrong then."""
        data = named(self.source, self.trials, data)
        kept = read(data)
        turned = {name for turn in kept.turns for name in turn.fields}
        shallow = {name: min(size, FEW) for name, size in kept.entry.sizes.items() if DEEP.search(last(name))}
        if self.trials.told(self.trials.filled(shallow)) is None:
            shallow = self.few
        settings = [shallow]
        whole = shallow | {name: value for turn in kept.turns for name, value in turn.fields.items()}
        if kept.turns and self.trials.told(self.trials.filled(whole)) is not None:
            settings.append(whole)
        fields = {
            name: value
            for name, value in self.usual.items()
            if name not in (*kept.entry.sizes, *turned, *kept.entry.unsaid)
            and (name not in kept.entry.stored or type(value) is int)
            and last(name) not in (*BESIDE, *INERT)
            and kept.entry.idle.get(name) not in ("token", "text")
        }
        freed = FieldSorts(self.source, self.trials, kept.entry, settings).found(fields)
        entry = dict(data["entry"])
        entry["idle"] = sorts(freed.idle, kept.entry.idle)
        entry["stored"] = sorts(freed.stored, kept.entry.stored)
        switches = dict(data["switches"])
        for part in ("", *(f"{part}." for part in self.trials.parts())):
            rotary = self.usual.get(f"{part}rope_parameters")
            if isinstance(rotary, dict) and PARTIAL in rotary:
                switches.setdefault(part + PARTIAL, rotary[PARTIAL])
        return self.proving.proved({**data, "switches": switches, "entry": {n: v for n, v in entry.items() if v}})

    def _proved(self, known: Mapping[str, Record], turns: list[Structure]) -> dict[str, Any]:
        """The entry of these records, with as many of the turns as it holds with. Raises WitnessError."""
        data = self._entry(known, turns)
        pairs = self._pairs(data, turns)
        data["turns"] += [self._short(turn, data["records"]) for turn in pairs]
        turns = turns + pairs
        if least := self.proving.least(read(data), self.few):
            data["entry"]["least"] = least
        why = ""
        for apart, held in ((False, turns), (True, turns), (True, [])):
            tried = data | {
                "entry": data["entry"] | ({"apart": True} if apart and held else {}),
                "turns": data["turns"][: len(held)],
            }
            try:
                return self.proving.proved(tried)
            except WitnessError as error:
                why = str(error)
                if held:
                    self.left[f"{self.source.name}, {len(held)} turns{', apart' * apart}"] = why
            if not turns:
                break
        raise WitnessError(why)

    def _given(self) -> dict[str, int]:
        """The width of a head, where the code asks for it and its own configs leave it out."""
        numbers = whole_numbers(self.trials.default)
        if HEAD in self.trials.usual or any(name not in numbers for name in WIDTH) or HEAD not in asked(self.source):
            return {}
        width, heads = (numbers[name] for name in WIDTH)
        other = self.trials.stored({HEAD: 2 * (width // heads)})
        return {HEAD: width // heads} if other not in (None, self.trials.stored({})) else {}

    def _usual_heads(self, more: int = 0) -> bool:
        """Whether the code takes the quotient for the width of a head where a config leaves it out.

        Its whole part, where the width is so much more than a multiple.
        """
        width, heads = WIDTH
        points = [self.few | {width: self.numbers[heads] * each + more, heads: self.numbers[heads]} for each in HEADS]
        told = [
            (self.trials.stored(each), self.trials.stored({**each, HEAD: each[width] // each[heads]}))
            for each in points
        ]
        return all(left_out is not None and left_out == given for left_out, given in told)

    def _width(self, known: Mapping[str, Symbol]) -> Expr | None:
        """The width of a head where a config leaves it out, in the width of the model and the heads, if it shows."""
        width, heads = (known.get(other) for other in WIDTH)
        if not (width and heads and self._usual_heads()):
            return None
        rounded = self.numbers[WIDTH[1]] > 2 and self._usual_heads(2)
        return floor(width / heads) if rounded else width / heads

    def _records(self, turned: Mapping[str, Any]) -> dict[str, Record]:
        """What a structure stores, and its operations where they are recognised. Raises WitnessError."""
        fields = self.given | self.trials.filled(turned)
        like = self._like(fields) if turned else None
        given = self.trials.fields(fields)
        traced = trace_source(self.source, given, self.target, like=like, limit=PATIENCE)
        self.traced = self.traced or traced
        find = records_in(traced, given)
        found = {STORED: find(STORED)}
        try:
            found[OPERATIONS] = find(OPERATIONS)
        except SymformerError as error:
            self.unrun = self.unrun or str(error)
        return {name: replace(each, config={}, reading=_anywhere(each.reading)) for name, each in found.items()}

    def _like(self, fields: Mapping[str, Any]) -> Trace | None:
        """The products of the usual structure, for one that multiplies and caches the same; None for any other.

        A product to which a bias is added has another name.
        """
        usual, other = self.trials.told(self.few), self.trials.told({**self.few, **fields})
        if usual is None or other is None or usual[2] != other[2] or len(usual[1]) != len(other[1]):
            return None
        names: dict[str, str] = {}
        for (ours, shape), (theirs, same) in zip(usual[1].items(), other[1].items(), strict=True):
            (at, _, first), (there, _, second) = ours.rpartition("."), theirs.rpartition(".")
            alike = at == there and shape == same and (first == second or {first, second} == BIASED)
            if not alike or names.setdefault(star(ours), star(theirs)) != star(theirs):
                return None
        try:
            found = cast(Trace, self.traced).of("flops")
        except SymformerError:
            return None
        component = cast(Traced, found.model.component)
        counts = {(names.get(path, path), shape): often for (path, shape), often in component.counts.items()}
        return replace(found, model=replace(found.model, component=replace(component, counts=counts)))

    def _switches(self) -> Iterator[str]:
        """The switches that change what a class does."""
        few = self.few
        before, stored = self.trials.told(few), self.trials.stored({})
        for name, value in self.usual.items():
            if not isinstance(value, bool) or last(name) in INERT:
                continue
            turned = self.trials.filled({name: not value})
            other = self.trials.told({**few, **turned})
            if other is not None and (other != before or self.trials.stored(turned) != stored):
                yield name

    @cached_property
    def few(self) -> dict[str, int]:
        """Fewer layers than there usually are, for a trial, where the class takes them."""
        deep = next((name for name in self.numbers if DEEP.search(name) and "." not in name), "")
        few = {deep: FEW} if self.numbers.get(deep, 0) > FEW else {}
        return few if self.trials.told(few) is not None else {}

    def _turn(self, fields: Mapping[str, Any], known: Mapping[str, Any]) -> Structure | None:
        """The records with some switches turned; None where they cannot be kept beside the usual ones, and why."""
        why = ", ".join([self.source.name, *(f"{name}={value}" for name, value in fields.items())])
        try:
            if process_time() > self.until:
                raise WitnessError(f"{TURNING} seconds were over")
            config = self.trials.config(self.given | self.trials.filled(fields))
            if whole_numbers(config) != self.numbers:
                raise WitnessError("it changes what other sizes are where a config leaves them out")
            found = self._records(fields)
            if found.keys() != known.keys():
                raise WitnessError("its operations are recognised in one structure and not in the other")
        except SymformerError as error:
            self.left[why] = str(error)
            return None
        return fields, found

    def _short(self, turn: Structure, usual: Mapping[str, Any]) -> dict[str, Any]:
        fields, records = turn
        said = self.trials.said(self.trials.filled(fields))
        return {
            "fields": fields,
            "said": {
                name: self._switch(name, value)
                for name, value in said.items()
                if name not in fields and value != self.usual.get(name) and last(name) not in INERT
            },
            "records": {name: short(to_data(each), usual[name]) for name, each in records.items()},
        }

    def _switch(self, name: str, value: Any) -> Any:
        """What a field says, where a list of layers repeats a pattern at any depth that pattern."""
        fields = self._depth(part_of(name))
        layers = sum(self.numbers.get(field, 0) for field in fields)
        if not isinstance(value, list) or len(value) != layers:
            return value
        period = next(n for n in range(1, layers + 1) if value[n:] == value[: layers - n])
        held = 2 * period <= layers
        for depth in (*DEPTHS, 2 * layers, layers + 1):
            given = None
            with suppress(Exception):  # whatever somebody's config raises of a depth
                given = self.trials.said({fields[0]: depth, **dict.fromkeys(fields[1:], 0)}).get(name)
            held = held and given == [value[layer % period] for layer in range(depth)]
        return {EACH: value[:period]} if held else value

    def _depth(self, part: str) -> tuple[str, ...]:
        """Return the field that says how many layers a part has, or the fields that count those of each kind."""
        if isinstance(self.source, Variant) and self.source.listed and part_of(self.source.listed) == part:
            return tuple(f"{part}.{kind}{COUNTED}".lstrip(".") for kind in self.source.kinds)
        return (self.depths[part],) if part in self.depths else ()

    def _entry(self, known: Mapping[str, Record], turns: Sequence[Structure]) -> dict[str, Any]:
        """The entry as data: which fields are sizes, which change nothing, and what all others say."""
        moving = _moving(each for records in (known, *(each for _, each in turns)) for each in records.values())
        sizes = {name: number for name, number in self.numbers.items() if name in moving}
        for field, length in lists(self.numbers).items():  # a list of which one entry is a size is one of sizes
            if any(name.startswith(f"{field}[") for name in sizes):
                sizes |= {f"{field}[{place}]": self.numbers[f"{field}[{place}]"] for place in range(length)}
        self.depths = {part_of(name): name for name in reversed(sizes) if DEEP.search(last(name))}
        usual = {name: to_data(each) for name, each in known.items()}
        data: dict[str, Any] = {"records": usual, "turns": [self._short(turn, usual) for turn in turns]}
        found = dict(self._follows(sizes, letters_of(read(data | {"entry": _NOBODY, "switches": {}}))))
        follows = {name: expr for name, expr in found.items() if expr is not None}
        names = {name for fields, _ in turns for name in fields}
        beside = {
            name: value
            for name, value in self.usual.items()
            if name not in (*sizes, *BESIDE) and last(name) not in (*INERT, "architectures")
        }
        tokens = {name: "token" for name in beside if name.endswith("_token_id")}
        idle = self._idle({name: value for name, value in beside.items() if name not in (*names, *tokens)}, turns)
        stored = self._stored(
            {name: value for name, value in beside.items() if name not in (*names, *tokens, *idle)}, turns
        )
        # What says as usual what no other may say stays beside: a number below 1, or rotary positions of its own.
        still = {n for n, held in idle.items() if held != ROTARY and HOLDS[held](beside.get(n))} | tokens.keys()
        others = {name: value for name, value in beside.items() if name not in still}
        kinds = spellings(self.source)
        given = dict(self.source.given) if isinstance(self.source, Variant) else {}
        listing = {*kinds, *indexed(self.source)}
        switches = {name: self._switch(name, value) for name, value in others.items() if name not in listing}
        made = self._made(sizes, switches)
        untaken = (name for name, taken in made.items() if not taken)
        unsaid = tuple(dict.fromkeys((*self._unsaid((*sizes, *beside)), *untaken)))
        entry = Shelved(
            name=self.source.name,
            model_type=self.source.model_type,
            versions=versions(),
            part=self.source.part,
            parts=tuple(self.trials.parts()),
            lists=lists(self.numbers),
            sizes=sizes,
            follows=follows,
            nulls=tuple(name for name in follows if self._null(name)),
            asked=tuple(
                dict.fromkeys(
                    (
                        *(name for name in found if name not in follows),
                        *(name for name, taken in made.items() if taken),
                        *self._asked((*sizes, *switches)),
                        *paths(given),
                    )
                )
            ),
            needed=tuple(part for part in given if part in self.trials.parts()),
            unsaid=unsaid,
            written=self._written(unsaid),
            depths={} if kinds or indexed(self.source) else self.depths,
            kinds=kinds,
            cut=cut(self.source) if kinds else (),
            indexed=indexed(self.source),
            closing=ending(self.source) if kinds else "",
            deep=deep(self.source),
            idle=idle | tokens,
            stored=stored,
            asks=tuple(sorted(asked(self.source) - self.usual.keys() - common(self.source))),
            still=tuple(self._still(known[STORED])),
            unrun="" if OPERATIONS in known else self.unrun,
        )
        return data | {"entry": to_data(entry), "switches": switches}

    def _still(self, stored: Record) -> Iterator[str]:
        """The usual sizes that the formulas have as numbers: pinned, in a list, or where no trace looks."""
        pinned = stored.reading.pinned if stored.reading else ()
        yield from (each.name for each in pinned if usual(each.name))
        tried = {ENTRY.sub("", name) for name in self.numbers}
        yield from (name for name in _usual(self.trials.default) if name not in tried)

    def _asked(self, names: Sequence[str]) -> Iterator[str]:
        """The fields of parts that are something else where a config gives the part and leaves them out."""
        parts = self.trials.parts()
        alone = [f"{part}.model_type" for part in parts]
        bare = self.trials.said({name: self.usual[name] for name in alone if name in self.usual})
        for name in names:
            if name in alone or ("." in name and bare.get(name) != self.usual[name]):
                yield name

    def _unsaid(self, names: Sequence[str]) -> Iterator[str]:
        """The fields that make another config where one gives them as they usually are."""
        for name in names:
            if name in self.given:
                continue
            with suppress(Exception):  # whatever somebody's config raises of it
                if self.trials.said(self.trials.filled({name: self.usual[name]})) == self.trials.usual:
                    continue
            yield name

    def _written(self, names: Sequence[str]) -> tuple[str, ...]:
        """Of some fields those that the usual config has, written out; none where that is another one for the class.

        Where these alone make another one of it, all that it has: they may stand in such a config only.
        """
        whole = json.loads(self.trials.default.to_json_string(use_diff=False))
        parts = (f"{part}.{name}" for part in self.trials.parts() for name in whole[part])
        every = {name for name in (*whole, *parts) if last(name) not in (*INERT, *BESIDE) and name[0] != "_"}
        found = [name for name in names if name in every]
        beside = {"model_type": self.source.model_type, "architectures": [self.source.name]}
        config = {**beside, self.source.part: whole} if self.source.part else {**whole, **beside}

        def written() -> dict[str, Any]:
            own = self.source.own(config, "config.json")
            return {name: value for name, value in own.items() if name != "architectures"}

        usual = self.trials.told({}) if found else None
        if usual is None or usual != self.trials.told_of(written):
            return ()
        alone = self.trials.told(self.trials.filled({name: self.trials.usual[name] for name in found}))
        return tuple(found if alone == usual else (name for name in self.trials.usual if name in every))

    def _settings(self, turns: Sequence[Structure]) -> list[Mapping[str, Any]]:
        """The fields of a class as it usually is, and with all its switches turned, or each where not all can be."""
        few = self.few
        every = {name: value for fields, _ in turns for name, value in fields.items()}
        if not every:
            return [few]
        whole = {**few, **every}
        apart = [{**few, **fields} for fields, _ in turns]
        return [few, *(apart if self.trials.told(self.trials.filled(whole)) is None else [whole])]

    def _made(self, sizes: Mapping[str, int], switches: Mapping[str, Any]) -> dict[str, bool]:
        """The fields that a config makes of its sizes where it leaves them out, and whether it takes them as given.

        One that it does not take is given as it usually is at other sizes too.
        """
        made: dict[str, bool] = {}
        for size, number in sizes.items():
            with suppress(Exception):  # whatever somebody's config raises of it
                before, other = self.trials.said({size: number}), self.trials.said({size: 2 * number})
                beside = (name for name in switches if size not in self._depth(part_of(name)))
                for name in (name for name in beside if name in other and other[name] != before.get(name)):
                    value = switches[name]
                    taken = type(value) is int and self.trials.said({size: 2 * number, name: value})[name] == value
                    made[name] = taken and made.get(name, True)
        return made

    def _idle(self, beside: Mapping[str, Any], turns: Sequence[Structure]) -> dict[str, str]:
        """The fields that change nothing, neither as usual nor with all switches turned, and what they hold."""
        few = self.few
        # A number that counts nothing, as the layer that is read from the end, may mean anything at another.
        idle = {name: value for name, value in beside.items() if type(value) is not int or value > 0}
        other: dict[str, Any] = {}  # what each of them may say too
        older = True
        for setting in self._settings(turns):
            before = self.trials.told(self.trials.filled(setting))
            said = self.trials.idle(idle, setting, before)
            other = {name: values[-1] for name, values in said.items()}
            idle = {name: value for name, value in idle.items() if name in other}
            older = older and "rope_parameters" in idle and self.trials.told({**setting, **OLDER}) == before
        usual = self.trials.told({})
        if few and self.trials.told(self.trials.filled(other)) != usual:  # at as many layers as there usually are
            alone = (name for name in other if self.trials.told(self.trials.filled({name: other[name]})) == usual)
            idle = {name: idle[name] for name in alone}
            older = older and "rope_parameters" in idle
        found = {name: holds(name, value) for name, value in idle.items()}
        return found | ({"rope_theta": "float", "rope_scaling": ROTARY} if older else {})

    def _stored(self, beside: Mapping[str, Any], turns: Sequence[Structure]) -> dict[str, str]:
        """The fields that change nothing that is stored, and may change what a class does; and what they hold."""
        found = {name: value for name, value in beside.items() if isinstance(value, (bool, int, float))}
        for setting in (*self._settings(turns), *([{}] if self.few else [])):
            same = self.trials.as_stored(found, setting)
            found = {name: value for name, value in found.items() if name in same}
        return {name: holds(name, value) for name, value in found.items()}

    def _follows(self, sizes: Mapping[str, int], letters: Mapping[str, str]) -> Iterator[tuple[str, Expr | None]]:
        """What a size is where a config leaves it out, for those that are then no number of their own, if it shows."""
        known = {name: SYMBOLS[letter] for name, letter in letters.items() if name in sizes}
        draw = random.Random(0)
        for name in sizes:
            if name in self.given:
                yield name, self._width(known)
                continue
            usual = {other: number for other, number in sizes.items() if other != name}
            alone = [{**usual, other: 2 * number} for other, number in usual.items()]
            every = [{other: number * draw.choice(TIMES) for other, number in usual.items()} for _ in range(TRIALS)]
            seen = []
            for point in (usual, *alone, *every):
                with suppress(Exception):  # whatever somebody's config raises of these
                    seen.append((point, whole_numbers(self.trials.config(point)).get(name)))
            if seen and all(value == sizes[name] for _, value in seen):
                continue
            offered = _quotients(name, known) if name in known else ()
            found = next((expr for expr in offered if _fits(expr, known, seen)), None)
            yield name, found

    def _null(self, name: str) -> bool:
        """Whether null is as good as nothing in a field."""
        with suppress(Exception):  # whatever somebody's config raises of it
            return bool(whole_numbers(self.trials.config({name: None})).get(name) == self.numbers[name])
        return False

    def _pairs(self, data: Mapping[str, Any], turns: Sequence[Structure]) -> list[Structure]:
        """Two switches that together change something else than each by itself, read together."""
        found: list[Structure] = []
        kept, known = read(data), data["records"]
        few = self.few | self.given | self.proving.asked(kept)
        for (first, _), (second, _) in combinations(turns, 2):
            fields = {**first, **second}
            if self.proving.agrees(kept, few | fields) is not True and self.trials.told(few | fields) is not None:
                found.append((len(found) < MOST and self._turn(fields, known)) or (fields, {}))
        return found


# Who reads records before there is an entry for them.
_NOBODY: Mapping[str, Any] = {"name": "", "model_type": "", "versions": {}, "sizes": {}}


def _anywhere(reading: Reading | None) -> Reading | None:
    """Return a reading without the comparison at its own config, because the catalogue answers for other configs."""
    return reading and replace(reading, at_config="")


def _usual(config: Any, into: str = "") -> Iterator[str]:
    """The usual sizes of a config and its parts, lists of them too."""
    for name, value in vars(config).items():
        if name in config.sub_configs and hasattr(value, "sub_configs"):
            yield from _usual(value, f"{into}{name}.")
        elif usual(name) and (value if type(value) is int else isinstance(value, list) and not PLACES.search(name)):
            yield into + name


def _moving(records: Iterator[Record]) -> set[str]:
    """The fields whose letters some formula or condition has."""
    found: set[str] = set()
    for record in records:
        component = record.lifted or record.counted
        known = {str(size) for each in component.constraints for size in each.symbols}
        for _, entry in component.ledger:
            tensors: list[Any] = [entry.output, *entry.inputs, *entry.weights, *entry.shared]
            known |= {str(size) for each in tensors for dim in each.shape for size in dim.free_symbols}
            known |= {str(size) for size in (entry.window.free_symbols if entry.window is not None else ())}
        known |= {str(size) for count, _ in component.ledger for size in count.free_symbols}
        found |= {name for name, letter in record.letters.items() if letter in known}
    return found


def _quotients(name: str, letters: Mapping[str, Any]) -> Iterator[Expr]:
    """What a size may follow as: another, a sum or a quotient of two, or a small multiple of one."""
    others = [letter for other, letter in letters.items() if other != name]
    yield from others
    yield from (times * each for each in others for times in map(Integer, (2, 3, 4)))
    yield from (above / below for above in others for below in others if above != below)
    yield from (a + b for a in others for b in others if str(a) < str(b))


def _fits(expr: Expr, letters: Mapping[str, Any], seen: Sequence[tuple[Mapping[str, int], Any]]) -> bool:
    """Whether an expression is what was seen wherever it is whole: first of all where all sizes are as usual."""
    values = [(_is(expr, letters, at), value) for at, value in seen]
    whole = [(ours, theirs) for ours, theirs in values if isinstance(ours, Integer)]
    return len(whole) > 1 and values[0] == whole[0] and all(ours == theirs for ours, theirs in whole)


def _is(expr: Expr, letters: Mapping[str, Any], point: Mapping[str, int]) -> Any:
    return put_in(expr, {letters[name]: number for name, number in point.items() if name in letters})
