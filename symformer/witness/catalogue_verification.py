"""Comparison of a catalogue entry with torch, at random configs that the entry covers.

If an entry is wrong, fields of the failing config are reset one by one to find the cause. The entry then covers only
the usual value of that field.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from math import prod
from typing import Any

from sympy import Integer

from ..catalogue.codec import to_data
from ..catalogue.config_match import match_or_none
from ..catalogue.entries import CatalogueEntry, counted_kinds, finder, part_of, read
from ..catalogue.measured_model import STORED
from ..catalogue.record import model_of_records
from ..language.errors import CatalogueError, SizeError, WitnessError
from ..language.sizes import Equals
from ..language.symbols import named_symbol
from ..models.model import Model
from ..models.provenance import Pinned, traced_only
from .inert_fields import TOKENS, FieldTrials, other_values
from .sampling import DEEP, is_essential
from .transformers_classes import TracedClass

DRAWS, HELD = 240, 20  # most random configs to sample, and comparisons with torch that suffice
DEEPER = 0.8  # share of samples with another depth, which a class may reject in any case
ENOUGH = 8  # comparisons that suffice for a class that rejects most configs
SMALL = (1, 2, 3)  # values at which code often omits something
WHY = "at another value the class stores or does something else"
BLAMED = 6  # most fields to fix at their usual value


class CatalogueVerification:
    """Comparisons of the entries of one class with torch."""

    def __init__(self, source: TracedClass, trials: FieldTrials, given: Mapping[str, int]) -> None:
        self.source, self.trials, self.given = source, trials, given
        self.usual: Mapping[str, Any] = {**trials.usual, **given}

    def proved(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the entry as data, with fields fixed at their usual value if it is wrong at others.

        Raises WitnessError if it is still wrong, or too few configs could be built.
        """
        found = dict(data)
        for _ in range(BLAMED):
            kept = read(found)
            if (wrong := self._wrong(kept)) is None:
                return found
            blamed = self._blamed(kept, wrong)
            if not blamed:
                break
            found = self._still(found, blamed)
        raise WitnessError(f"the entry of {self.source.name} is wrong at {wrong}")

    def miscounts(self, kept: CatalogueEntry, point: Mapping[str, Any]) -> bool:
        """Return True if an entry answers a config with another number of parameters than torch."""
        try:
            model = self._model(kept, point)
            stored = None if model is None else self.trials.stored(point)
            return bool(model and stored and model.params.value() != sum(map(prod, stored.values())))
        except SizeError:
            return False

    def _model(self, kept: CatalogueEntry, point: Mapping[str, Any]) -> Model | None:
        """Return the model of an entry at a config, or None if the entry does not cover it."""
        try:
            fields = self.trials.fields(point)
        except WitnessError:  # layers without a pattern, at another depth
            return None
        beside = {"model_type": self.source.model_type, "architectures": [self.source.name]}
        at = match_or_none(kept, {**beside, self.source.part: fields} if self.source.part else {**fields, **beside})
        return None if at is None else model_of_records(self.source.name, finder(kept, at))

    def agrees(self, kept: CatalogueEntry, point: Mapping[str, Any]) -> bool | None:
        """Return True if torch agrees at a config; None if there is no such model or no answer."""
        try:
            model = self._model(kept, point)
            if model is None or (told := self.trials.told(point)) is None:
                return None
            stored, multiplied = (sum(map(prod, rows.values())) for rows in told[:2])
            if model.params.value() != stored:
                return False
            with suppress(CatalogueError):
                flops = model.formula("flops").value(**{name: TOKENS[name] for name in _run(model)})
                return not told[1] or flops == 2 * multiplied
        except SizeError:
            return None
        return True

    def asked(self, kept: CatalogueEntry) -> dict[str, Any]:
        """Return the fields that every config of an entry must state, with their usual values."""
        asked = (
            name for name in kept.config.required if "." not in name or part_of(name) in kept.config.required_parts
        )
        return {name: self.usual[name] for name in (*asked, *counted_kinds(kept.config))}

    def least(self, kept: CatalogueEntry, few: Mapping[str, int]) -> dict[str, int]:
        """Return the smallest correct value of each size at which the entry is wrong for smaller ones."""
        given = self.asked(kept)
        found = {}
        for name in kept.config.sizes:
            wrong = [n for n in SMALL if self.agrees(kept, {**few, **self.given, **given, name: n}) is False]
            if wrong:
                found[name] = wrong[-1] + 1
        return found

    def _wrong(self, kept: CatalogueEntry) -> dict[str, Any] | None:
        """Return a random config that an entry covers but is wrong at, or None if it is right at all.

        Raises WitnessError if too few configs could be built.
        """
        draw, held = random.Random(self.source.name), 0
        for _ in range(DRAWS):
            point = self._drawn(draw, kept)
            match self.agrees(kept, point):
                case False:
                    return point
                case True:
                    held += 1
            if held == HELD:
                return None
        if held >= ENOUGH:
            return None
        raise WitnessError(
            f"the entry of {self.source.name} could be compared with torch at only {held} random configs"
        )

    def _blamed(self, kept: CatalogueEntry, wrong: Mapping[str, Any]) -> str:
        """Return the field that must keep its usual value for an entry to be right, or "" if a switch is the cause.

        Of several such fields, fields without effect come first, then sizes other than usual ones.
        """
        point = dict(wrong)
        for name in wrong:
            fewer = {other: value for other, value in point.items() if other != name}
            if name not in kept.config.required and self.agrees(kept, fewer) is False:
                point = fewer
        left = [name for name in point if name not in kept.config.required or point[name] != self.usual[name]]
        if {name for turn in kept.option_effects for name in turn.fields}.intersection(left):
            return ""
        inert = [name for name in left if name in kept.config.inert or name in kept.config.inert_for_params]
        sizes = sorted((name for name in left if name in kept.config.sizes), key=is_essential)
        return next(iter((*inert, *sizes)), "")

    def _still(self, data: Mapping[str, Any], name: str) -> dict[str, Any]:
        """Return the entry for configs in which a field has its usual value."""
        entry = {
            each: {field: said for field, said in value.items() if field != name} if each in _FIELDS else value
            for each, value in data["config"].items()
        }
        if is_essential(name) and name in entry["sizes"]:
            entry["constants"] = [*entry.get("constants", ()), name]
        value = self.usual[name]
        return {
            "config": entry,
            "switches": {**data["switches"], name: value},
            "records": _all_held(data["records"], name, value),
            "option_effects": [
                {**turn, "records": _all_held(turn["records"], name, value)} for turn in data["option_effects"]
            ],
        }

    def _drawn(self, draw: random.Random, kept: CatalogueEntry) -> dict[str, Any]:
        """Return a random config: some sizes, mostly simple multiples of their defaults, switches and inert fields."""
        found: dict[str, Any] = {}
        often = draw.choice((0.2, 0.4, 0.7))  # if all sizes change, they rarely divide each other as required
        fixed = {each["name"] for each in kept.records[STORED].get("reading", {}).get("pinned", ())}
        for name, size in kept.config.sizes.items():
            if name in kept.switches or (name in fixed and draw.random() < DEEPER):
                continue
            if DEEP.search(name) and draw.random() < DEEPER:
                deep = [max(size // 4, 1), max(size // 2, 1), size // 2 + 1, size]
                found[name] = draw.choice([1, 2, 3, 4, 5, 6, 7, 8] if draw.random() < 0.7 else deep)
            elif draw.random() < often:
                small = size if size < 16 else size // draw.choice((2, 4))
                found[name] = small * draw.choice((1, 2, 3)) + (draw.choice((1, 2)) if draw.random() < 0.05 else 0)
        turns = [turn.fields for turn in kept.option_effects if kept.config.single_switches or draw.random() < 0.4]
        for fields in draw.sample(turns, min(len(turns), 1)) if kept.config.single_switches else turns:
            found |= fields
        for name in (*kept.config.inert, *kept.config.inert_for_params):
            if draw.random() < 0.3 and (few := other_values(name, self.usual.get(name)) or _examples(kept, name)):
                found[name] = draw.choice(few)
        for name, field in kept.config.aliases.items():
            if field in found and draw.random() < 0.2:
                found[name] = found.pop(field)
        for name in counted_kinds(kept.config):
            found.setdefault(name, self.usual[name])
        for name in kept.switches:
            if name in self.usual and draw.random() < 0.1:
                found.setdefault(name, self.usual[name])
        given = {name.partition(".")[0] for name in found} | {*kept.config.required_parts}
        for name in kept.config.required:
            if "." not in name or name.partition(".")[0] in given:
                found.setdefault(name, self.usual[name])
        return found


_EXAMPLES: Mapping[str, tuple[Any, ...]] = {
    "null": (None,),
    "bool": (True, False),
    "int": (1, 2, 5, 48, 1000),
    "integer": (-1, 0, 9),
    "float": (0.1, 3.0, 5e4),
    "text": ("any",),
    "rotary": ({"rope_type": "linear", "factor": 4.0, "rope_theta": 6e5},),
}


def _examples(kept: CatalogueEntry, name: str) -> list[Any]:
    """Return values to test for a field without a default."""
    known = "|".join((kept.config.inert.get(name, ""), kept.config.inert_for_params.get(name, "")))
    return [value for sort in known.split("|") for value in _EXAMPLES.get(sort, ())]


_FIELDS = ("inert", "inert_for_params")  # parts of an entry that are keyed by field


def _all_held(records: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    return {quantity: _held(record, name, value) for quantity, record in records.items()}


def _held(record: Mapping[str, Any], name: str, value: Any) -> Mapping[str, Any]:
    """Return a record with the condition that a size has this value."""
    if name not in record["letters"]:
        return record
    kind = "traced" if "traced" in record else "lifted"
    found, reading = record[kind], record.get("reading", {})
    condition = to_data(Equals(named_symbol(record["letters"][name]), Integer(value), traced_only(value, WHY)))
    pinned = to_data(Pinned(name, value, WHY))
    return {
        **record,
        kind: {**found, "conditions": [*found.get("conditions", ()), condition]},
        "reading": {**reading, "pinned": [*reading.get("pinned", ()), pinned]},
    }


def _run(model: Model) -> list[str]:
    """Return the sizes of a run in its forward FLOPs."""
    return [str(size) for size in model.formula("flops").symbols if str(size) in TOKENS]
