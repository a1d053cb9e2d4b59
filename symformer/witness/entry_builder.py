"""Catalogue entries: the stored parameters and operations of a class, by default and with each switch set.

Tests find the fields without effect. The combined effect of several switches is the sum of their separate effects if
torch agrees. Every entry is checked against torch at random configs before it is written.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import combinations
from time import process_time
from typing import Any, cast

from sympy import Expr, Integer, Symbol, floor

from ..catalogue.codec import to_data
from ..catalogue.disk_cache import versions
from ..catalogue.entries import CLASS_FIELDS, EACH, HEAD, HOLDS, ClassConfig, field_name, letters_of, part_of, read
from ..catalogue.json_merge import compress_rows
from ..catalogue.measured_model import STORED, MeasuredModel
from ..catalogue.record import OPERATIONS, Record
from ..configs.common_fields import INERT
from ..language.errors import SymformerError, WitnessError
from ..language.sizes import substitute
from ..language.symbols import named_symbol
from ..models.provenance import TraceEvidence
from .catalogue_verification import CatalogueVerification
from .config_integers import PLACES, whole_numbers
from .field_names import with_field_names
from .field_sorts import PARTIAL, FieldSorts, sorts
from .field_variants import (
    COUNTED,
    FieldVariant,
    depth_field,
    last_layer_kind,
    paths,
    position_lists,
    spellings,
    truncated_lists,
)
from .fields_read import common_names, fields_read_by
from .head_divisors import HeadDivisors, equal_sizes, grouped_heads, with_head_divisors
from .inert_fields import OLDER, ROTARY, FieldTrials, holds, lists
from .layer_periods import LayerPeriods
from .row_interpolation import star
from .sampling import DEEP, ENTRY, is_essential
from .trace_result import Trace
from .trace_sources import records_in, trace_source
from .transformers_classes import TracedClass

BIASED = {"mm", "addmm"}  # a product without and with a bias
WIDTH = ("hidden_size", "num_attention_heads")  # the head dimension is usually their quotient
HEADS = (24, 40, 64)  # head dimensions at which to test this
FEW = 6  # layers of a test model; more add nothing, because the values of a depth field are tested from 1
DEPTHS = (1, 2, 3, 5, 6, 7, 8)  # depths at which to test whether a list of layers repeats a pattern
TRIALS = 8  # samples of all sizes that show which sizes a derived size depends on
TIMES = (2, 3, 4, 6)  # factors of each size in them; quotients stay integers
PATIENCE = 400  # CPU seconds for the stored parameters of a structure; a census can take long
TURNING = 240  # CPU seconds after which no further switch is traced
MOST = 8  # most pairs of interacting switches to trace

Structure = tuple[Mapping[str, Any], Mapping[str, Record]]  # the switches that are set, and the records


class EntryBuilder:
    """The catalogue entry of one class."""

    def __init__(self, source: TracedClass, target: str) -> None:
        self.source, self.target = source, target
        self.trials = FieldTrials(source)
        self.given = self._given()
        self.usual = self.trials.usual | self.given
        self.numbers = whole_numbers(self.trials.config(self.given))
        self.proving = CatalogueVerification(source, self.trials, self.given)
        self.traced: Trace | None = None  # of the default structure
        self.depths: dict[str, str] = {}  # for each part, the field with its number of layers, if that is a size
        self.until = 0.0  # the CPU time after which no further switch is traced
        self.unrun = ""  # why the operations are unknown, if they are
        self.left: dict[str, str] = {}  # left-out fields, and why

    def kept(self) -> dict[str, Any]:
        """Return the entry as stored in a file. Raises WitnessError if there is no correct formula."""
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
        """Return an entry with the tested effect of every field. Raises WitnessError if it is wrong with them."""
        data = with_field_names(self.source, self.trials, data)
        kept = read(data)
        turned = {name for turn in kept.option_effects for name in turn.fields}
        shallow = {name: min(size, FEW) for name, size in kept.config.sizes.items() if DEEP.search(field_name(name))}
        if self.trials.told(self.trials.filled(shallow)) is None:
            shallow = self.few
        settings = [shallow]
        whole = shallow | {name: value for turn in kept.option_effects for name, value in turn.fields.items()}
        if kept.option_effects and self.trials.told(self.trials.filled(whole)) is not None:
            settings.append(whole)
        fields = {
            name: value
            for name, value in self.usual.items()
            if name not in (*kept.config.sizes, *turned, *kept.config.unstated_defaults)
            and (name not in kept.config.inert_for_params or type(value) is int)
            and field_name(name) not in (*CLASS_FIELDS, *INERT)
            and kept.config.inert.get(name) not in ("token", "text")
        }
        freed = FieldSorts(self.source, self.trials, kept.config, settings).found(fields)
        entry = dict(data["config"])
        entry["inert"] = sorts(freed.inert, kept.config.inert)
        entry["inert_for_params"] = sorts(freed.stored, kept.config.inert_for_params)
        switches = dict(data["switches"])
        if OPERATIONS in kept.records:
            turns = {name: value for setting in settings[1:] for name, value in setting.items() if name in turned}
            for turned_on in ({}, *([turns] if turns else [])):
                periods = LayerPeriods(self.trials, kept.config.sizes, turned_on)
                entry, switches = periods.without_effects(entry, switches)
        for part in ("", *(f"{part}." for part in self.trials.parts())):
            rotary = self.usual.get(f"{part}rope_parameters")
            if isinstance(rotary, dict) and PARTIAL in rotary:
                switches.setdefault(part + PARTIAL, rotary[PARTIAL])
        found = {**data, "switches": switches, "config": {n: v for n, v in entry.items() if v}}
        heads = HeadDivisors(
            self.trials,
            tuple(kept.config.sizes),
            shallow | self.given | self.proving.asked(kept),
            OPERATIONS in kept.records,
            partial(self.proving.miscounts, read(found)),
            equal_sizes(found["records"]),
        )
        return self.proving.proved(
            with_head_divisors(found, self.trials, (*heads.found(), *grouped_heads(found["records"])))
        )

    def _proved(self, known: Mapping[str, Record], turns: list[Structure]) -> dict[str, Any]:
        """Return the entry of these records, with as many switches as are correct. Raises WitnessError."""
        data = self._entry(known, turns)
        pairs = self._pairs(data, turns)
        data["option_effects"] += [self._short(turn, data["records"]) for turn in pairs]
        turns = turns + pairs
        if least := self.proving.least(read(data), self.few):
            data["config"]["minimums"] = least
        why = ""
        for apart, held in ((False, turns), (True, turns), (True, [])):
            tried = data | {
                "config": data["config"] | ({"single_switches": True} if apart and held else {}),
                "option_effects": data["option_effects"][: len(held)],
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
        """Return the head dimension, if the code reads it but its own configs omit it."""
        numbers = whole_numbers(self.trials.default)
        if (
            HEAD in self.trials.usual
            or any(name not in numbers for name in WIDTH)
            or HEAD not in fields_read_by(self.source)
        ):
            return {}
        width, heads = (numbers[name] for name in WIDTH)
        other = self.trials.stored({HEAD: 2 * (width // heads)})
        return {HEAD: width // heads} if other not in (None, self.trials.stored({})) else {}

    def _usual_heads(self, more: int = 0) -> bool:
        """Return True if the head dimension defaults to the quotient of width and heads.

        It is rounded down if the width is ``more`` than a multiple.
        """
        width, heads = WIDTH
        points = [self.few | {width: self.numbers[heads] * each + more, heads: self.numbers[heads]} for each in HEADS]
        told = [
            (self.trials.stored(each), self.trials.stored({**each, HEAD: each[width] // each[heads]}))
            for each in points
        ]
        return all(left_out is not None and left_out == given for left_out, given in told)

    def _width(self, known: Mapping[str, Symbol]) -> Expr | None:
        """Return the default head dimension as a function of the model width and the heads, if known."""
        width, heads = (known.get(other) for other in WIDTH)
        if not (width and heads and self._usual_heads()):
            return None
        rounded = self.numbers[WIDTH[1]] > 2 and self._usual_heads(2)
        return floor(width / heads) if rounded else width / heads

    def _records(self, turned: Mapping[str, Any]) -> dict[str, Record]:
        """Return the stored parameters of a structure, and its operations if identified. Raises WitnessError."""
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
        """Return the products of the default structure for a structure with the same products and cache, or None.

        A product with a bias has another name.
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
            found = cast(Trace, self.traced).for_quantity("flops")
        except SymformerError:
            return None
        component = cast(MeasuredModel, found.model.component)
        counts = {(names.get(path, path), shape): often for (path, shape), often in component.counts.items()}
        return replace(found, model=replace(found.model, component=replace(component, counts=counts)))

    def _switches(self) -> Iterator[str]:
        """Yield the switches that affect a class."""
        few = self.few
        before, stored = self.trials.told(few), self.trials.stored({})
        for name, value in self.usual.items():
            if not isinstance(value, bool) or field_name(name) in INERT:
                continue
            turned = self.trials.filled({name: not value})
            other = self.trials.told({**few, **turned})
            if other is not None and (other != before or self.trials.stored(turned) != stored):
                yield name

    @cached_property
    def few(self) -> dict[str, int]:
        """The number of layers in a test model, if smaller than the default and accepted by the class."""
        deep = next((name for name in self.numbers if DEEP.search(name) and "." not in name), "")
        few = {deep: FEW} if self.numbers.get(deep, 0) > FEW else {}
        return few if self.trials.told(few) is not None else {}

    def _turn(self, fields: Mapping[str, Any], known: Mapping[str, Any]) -> Structure | None:
        """Return the records with some switches set; or None, with the reason noted, if they do not fit the entry."""
        why = ", ".join([self.source.name, *(f"{name}={value}" for name, value in fields.items())])
        try:
            if process_time() > self.until:
                raise WitnessError(f"the time limit of {TURNING} seconds was exceeded")
            config = self.trials.config(self.given | self.trials.filled(fields))
            if whole_numbers(config) != self.numbers:
                raise WitnessError("it changes the defaults of other sizes")
            found = self._records(fields)
            if found.keys() != known.keys():
                raise WitnessError("its operations are identified in one structure but not in the other")
        except SymformerError as error:
            self.left[why] = str(error)
            return None
        return fields, found

    def _short(self, turn: Structure, usual: Mapping[str, Any]) -> dict[str, Any]:
        fields, records = turn
        said = self.trials.said(self.trials.filled(fields))
        return {
            "fields": fields,
            "changed_defaults": {
                name: self._switch(name, value)
                for name, value in said.items()
                if name not in fields and value != self.usual.get(name) and field_name(name) not in INERT
            },
            "records": {name: compress_rows(_stored(each), usual[name]) for name, each in records.items()},
        }

    def _switch(self, name: str, value: Any) -> Any:
        """Return the value of a field; for a list of layers, the pattern that it repeats at every depth, if any."""
        fields = self._depth(part_of(name))
        layers = sum(self.numbers.get(field, 0) for field in fields)
        if not isinstance(value, list) or len(value) != layers:
            return value
        period = next(n for n in range(1, layers + 1) if value[n:] == value[: layers - n])
        held = 2 * period <= layers
        for depth in (*DEPTHS, 2 * layers, layers + 1):
            given = None
            with suppress(Exception):  # any error of the config class at this depth
                given = self.trials.said({fields[0]: depth, **dict.fromkeys(fields[1:], 0)}).get(name)
            held = held and given == [value[layer % period] for layer in range(depth)]
        return {EACH: value[:period]} if held else value

    def _depth(self, part: str) -> tuple[str, ...]:
        """Return the field with the number of layers of a part, or the fields that count its layers of each kind."""
        if isinstance(self.source, FieldVariant) and self.source.listed and part_of(self.source.listed) == part:
            return tuple(f"{part}.{kind}{COUNTED}".lstrip(".") for kind in self.source.kinds)
        return (self.depths[part],) if part in self.depths else ()

    def _entry(self, known: Mapping[str, Record], turns: Sequence[Structure]) -> dict[str, Any]:
        """Return the entry as data: the sizes, the fields without effect, and the values of all other fields."""
        moving = _moving(each for records in (known, *(each for _, each in turns)) for each in records.values())
        sizes = {name: number for name, number in self.numbers.items() if name in moving}
        for field, length in lists(self.numbers).items():  # if one entry of a list is a size, all are
            if any(name.startswith(f"{field}[") for name in sizes):
                sizes |= {f"{field}[{place}]": self.numbers[f"{field}[{place}]"] for place in range(length)}
        self.depths = {part_of(name): name for name in reversed(sizes) if DEEP.search(field_name(name))}
        usual = {name: _stored(each) for name, each in known.items()}
        data: dict[str, Any] = {"records": usual, "option_effects": [self._short(turn, usual) for turn in turns]}
        found = dict(self._follows(sizes, letters_of(read(data | {"config": _NOBODY, "switches": {}}))))
        follows = {name: expr for name, expr in found.items() if expr is not None}
        names = {name for fields, _ in turns for name in fields}
        beside = {
            name: value
            for name, value in self.usual.items()
            if name not in (*sizes, *CLASS_FIELDS) and field_name(name) not in (*INERT, "architectures")
        }
        tokens = {name: "token" for name in beside if name.endswith("_token_id")}
        inert = self._inert({name: value for name, value in beside.items() if name not in (*names, *tokens)}, turns)
        stored = self._stored(
            {name: value for name, value in beside.items() if name not in (*names, *tokens, *inert)}, turns
        )
        # Fields whose default is outside the tested sort stay fixed: a number below 1, or special rotary positions.
        still = {n for n, held in inert.items() if held != ROTARY and HOLDS[held](beside.get(n))} | tokens.keys()
        others = {name: value for name, value in beside.items() if name not in still}
        kinds = spellings(self.source)
        given = dict(self.source.given) if isinstance(self.source, FieldVariant) else {}
        listing = {*kinds, *position_lists(self.source)}
        switches = {name: self._switch(name, value) for name, value in others.items() if name not in listing}
        made = self._made(sizes, switches)
        untaken = (name for name, taken in made.items() if not taken)
        unsaid = tuple(dict.fromkeys((*self._unsaid((*sizes, *beside)), *untaken)))
        entry = ClassConfig(
            name=self.source.name,
            model_type=self.source.model_type,
            versions=versions(),
            part=self.source.part,
            parts=tuple(self.trials.parts()),
            lists=lists(self.numbers),
            sizes=sizes,
            default_formulas=follows,
            nullable=tuple(name for name in follows if self._null(name)),
            required=tuple(
                dict.fromkeys(
                    (
                        *(name for name in found if name not in follows),
                        *(name for name, taken in made.items() if taken),
                        *self._asked((*sizes, *switches)),
                        *(each for name in paths(given) for each in self._entries(name)),
                    )
                )
            ),
            required_parts=tuple(part for part in given if part in self.trials.parts()),
            unstated_defaults=unsaid,
            stated_together=self._written(unsaid),
            list_depths={} if kinds or position_lists(self.source) else self.depths,
            layer_kinds=kinds,
            truncated_lists=truncated_lists(self.source) if kinds else (),
            index_lists=position_lists(self.source),
            final_kind=last_layer_kind(self.source) if kinds else "",
            depth_field=depth_field(self.source),
            inert=inert | tokens,
            inert_for_params=stored,
            names_read=tuple(sorted(fields_read_by(self.source) - self.usual.keys() - common_names(self.source))),
            constants=tuple(self._still(known[STORED])),
            run_refusal="" if OPERATIONS in known else self.unrun,
        )
        return data | {"config": to_data(entry), "switches": switches}

    def _still(self, stored: Record) -> Iterator[str]:
        """Yield the usual sizes that are numbers in the formulas: pinned, in a list, or outside the trace."""
        pinned = stored.reading.pinned if stored.reading else ()
        yield from (each.name for each in pinned if is_essential(each.name))
        tried = {ENTRY.sub("", name) for name in self.numbers}
        yield from (name for name in _usual(self.trials.default) if name not in tried)

    def _asked(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the fields of parts whose default changes if a config gives the part without them."""
        parts = self.trials.parts()
        alone = [f"{part}.model_type" for part in parts]
        bare = self.trials.said({name: self.usual[name] for name in alone if name in self.usual})
        for name in names:
            if name in alone or ("." in name and bare.get(name) != self.usual[name]):
                yield name

    def _entries(self, name: str) -> list[str]:
        """Return the sizes that a field lists, or the field."""
        return [each for each in self.numbers if each != name and ENTRY.sub("", each) == name] or [name]

    def _unsaid(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the fields that change the config even if set to their defaults."""
        for name in names:
            if name in self.given:
                continue
            with suppress(Exception):  # any error of the config class
                if self.trials.said(self.trials.filled({name: self.usual[name]})) == self.trials.usual:
                    continue
            yield name

    def _written(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return those fields that the written default config contains, or () if the class reads it differently.

        If these fields alone change the model, return all fields of that config: they are valid only together.
        """
        whole = json.loads(self.trials.default.to_json_string(use_diff=False))
        parts = (f"{part}.{name}" for part in self.trials.parts() for name in whole[part])
        every = {
            name for name in (*whole, *parts) if field_name(name) not in (*INERT, *CLASS_FIELDS) and name[0] != "_"
        }
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
        """Return the settings to test: the defaults, and all switches set at once, or one by one if they conflict."""
        few = self.few
        every = {name: value for fields, _ in turns for name, value in fields.items()}
        if not every:
            return [few]
        whole = {**few, **every}
        apart = [{**few, **fields} for fields, _ in turns]
        return [few, *(apart if self.trials.told(self.trials.filled(whole)) is None else [whole])]

    def _made(self, sizes: Mapping[str, int], switches: Mapping[str, Any]) -> dict[str, bool]:
        """Return the fields that a config derives from its sizes by default, and whether it accepts other values.

        A field without other values keeps its default at other sizes too.
        """
        made: dict[str, bool] = {}
        for size, number in sizes.items():
            with suppress(Exception):  # any error of the config class
                before, other = self.trials.said({size: number}), self.trials.said({size: 2 * number})
                beside = (name for name in switches if size not in self._depth(part_of(name)))
                for name in (name for name in beside if name in other and other[name] != before.get(name)):
                    value = switches[name]
                    taken = type(value) is int and self.trials.said({size: 2 * number, name: value})[name] == value
                    made[name] = taken and made.get(name, True)
        return made

    def _inert(self, beside: Mapping[str, Any], turns: Sequence[Structure]) -> dict[str, str]:
        """Return the fields without effect, by default and with all switches set, and the sort of their values."""
        few = self.few
        # Other values of a number that counts nothing, such as the layer to read from the end, may have any meaning.
        inert = {name: value for name, value in beside.items() if type(value) is not int or value > 0}
        other: dict[str, Any] = {}  # another accepted value of each
        older = True
        for setting in self._settings(turns):
            before = self.trials.told(self.trials.filled(setting))
            said = self.trials.inert(inert, setting, before)
            other = {name: values[-1] for name, values in said.items()}
            inert = {name: value for name, value in inert.items() if name in other}
            older = older and "rope_parameters" in inert and self.trials.told({**setting, **OLDER}) == before
        usual = self.trials.told({})
        if few and self.trials.told(self.trials.filled(other)) != usual:  # at the default number of layers
            alone = (name for name in other if self.trials.told(self.trials.filled({name: other[name]})) == usual)
            inert = {name: inert[name] for name in alone}
            older = older and "rope_parameters" in inert
        found = {name: holds(name, value) for name, value in inert.items()}
        return found | ({"rope_theta": "float", "rope_scaling": ROTARY} if older else {})

    def _stored(self, beside: Mapping[str, Any], turns: Sequence[Structure]) -> dict[str, str]:
        """Return the fields that do not affect the stored parameters but may affect a run, and the sort of values."""
        found = {name: value for name, value in beside.items() if isinstance(value, (bool, int, float))}
        for setting in (*self._settings(turns), *([{}] if self.few else [])):
            same = self.trials.as_stored(found, setting)
            found = {name: value for name, value in found.items() if name in same}
        return {name: holds(name, value) for name, value in found.items()}

    def _follows(self, sizes: Mapping[str, int], letters: Mapping[str, str]) -> Iterator[tuple[str, Expr | None]]:
        """Yield the sizes whose default is derived from others, each with its expression, or None if unknown."""
        known = {name: named_symbol(letter) for name, letter in letters.items() if name in sizes}
        draw = random.Random(0)
        for name in sizes:
            if name in self.given:
                yield name, self._width(known)
                continue
            whole = ENTRY.sub("", name)  # a config states a list only with all of its entries
            usual = {other: number for other, number in sizes.items() if ENTRY.sub("", other) != whole}
            alone = [{**usual, other: 2 * number} for other, number in usual.items()]
            every = [{other: number * draw.choice(TIMES) for other, number in usual.items()} for _ in range(TRIALS)]
            seen = []
            for point in (usual, *alone, *every):
                with suppress(Exception):  # any error of the config class
                    seen.append((point, whole_numbers(self.trials.config(point)).get(name)))
            if seen and all(value == sizes[name] for _, value in seen):
                continue
            offered = _quotients(name, known) if name in known else ()
            found = next((expr for expr in offered if _fits(expr, known, seen)), None)
            yield name, found

    def _null(self, name: str) -> bool:
        """Return True if null in a field has the same effect as omitting it."""
        with suppress(Exception):  # any error of the config class
            return bool(whole_numbers(self.trials.config({name: None})).get(name) == self.numbers[name])
        return False

    def _pairs(self, data: Mapping[str, Any], turns: Sequence[Structure]) -> list[Structure]:
        """Return the pairs of switches whose combined effect is not the sum of their effects, traced together."""
        found: list[Structure] = []
        kept, known = read(data), data["records"]
        few = self.few | self.given | self.proving.asked(kept)
        for (first, _), (second, _) in combinations(turns, 2):
            fields = {**first, **second}
            if self.proving.agrees(kept, few | fields) is not True and self.trials.told(few | fields) is not None:
                found.append((len(found) < MOST and self._turn(fields, known)) or (fields, {}))
        return found


# A placeholder for reading records before there is an entry.
_NOBODY: Mapping[str, Any] = {"name": "", "model_type": "", "versions": {}, "sizes": {}}


def _anywhere(reading: TraceEvidence | None) -> TraceEvidence | None:
    """Return a reading without the comparison at its own config, because the catalogue covers other configs."""
    return reading and replace(reading, at_config="")


def _usual(config: Any, into: str = "") -> Iterator[str]:
    """Yield the usual sizes of a config and its parts, including lists of sizes."""
    for name, value in vars(config).items():
        if name in config.sub_configs and hasattr(value, "sub_configs"):
            yield from _usual(value, f"{into}{name}.")
        elif is_essential(name) and (
            value if type(value) is int else isinstance(value, list) and not PLACES.search(name)
        ):
            yield into + name


def _moving(records: Iterator[Record]) -> set[str]:
    """Return the fields whose letters occur in a formula or a condition."""
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
    """Yield candidates for a derived size: another size, a sum, a quotient or a small multiple."""
    others = [letter for other, letter in letters.items() if other != name]
    yield from others
    yield from (times * each for each in others for times in map(Integer, (2, 3, 4)))
    yield from (above / below for above in others for below in others if above != below)
    yield from (a + b for a in others for b in others if str(a) < str(b))


def _fits(expr: Expr, letters: Mapping[str, Any], seen: Sequence[tuple[Mapping[str, int], Any]]) -> bool:
    """Return True if an expression matches every observation where it is an integer, including the defaults."""
    values = [(_is(expr, letters, at), value) for at, value in seen]
    whole = [(ours, theirs) for ours, theirs in values if isinstance(ours, Integer)]
    return len(whole) > 1 and values[0] == whole[0] and all(ours == theirs for ours, theirs in whole)


def _is(expr: Expr, letters: Mapping[str, Any], point: Mapping[str, int]) -> Any:
    return substitute(expr, {letters[name]: number for name, number in point.items() if name in letters})


def _stored(record: Record) -> Any:
    """Return the data of a record without the other names of its sizes, which the catalogue adds when it reads it."""
    return to_data(replace(record, names={}))
