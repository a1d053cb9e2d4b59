"""Fields whose effect shows only in a deep model with short windows, such as the period of a layer pattern.

A model with fewer layers than a period has one kind of layer, and all kinds of layers cache the same tokens if these
fit the windows. So fields without effect in a shallow model with the default windows are tested again here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..catalogue.config_match import WINDOWS
from ..catalogue.entries import field_name, part_of
from .inert_fields import FieldTrials, Told, inert_subset
from .sampling import DEEP, ENTRY, is_window

PERIOD = re.compile(r"pattern|interval|period|(^|_)steps?(_|$)|freq|every")
PERIODS = (1, 2, 3, 5)  # tested values of an integer
DEPTH = 12  # layers, more than twice each of them
WINDOW = 8  # tokens, fewer than in the run of a trial
NUMBERS = ("int", "integer", "bool", "float")  # the sorts of values that may name a period


class LayerPeriods:
    """Tests of one class's fields in a deep model with short windows.

    Parameters
    ----------
    trials
        The class.
    sizes
        The fields that are sizes in its formulas.
    turned
        The switches to set, with their values.

    """

    def __init__(self, trials: FieldTrials, sizes: Iterable[str], turned: Mapping[str, Any]) -> None:
        self.trials, self.turned = trials, turned
        self.lists = self._derived_lists()
        depths = {name: DEPTH for name in sizes if DEEP.search(field_name(name)) and not ENTRY.search(name)}
        self.setting = self._accepted({**depths, **self._windows()})
        self.deep = not depths or any(name in self.setting for name in depths)
        self.before = self._told({})

    def effects(self, inert: Mapping[str, str]) -> dict[str, str]:
        """Return the sorts of values that are not known to have no effect, by field.

        Parameters
        ----------
        inert
            The fields without effect in a shallow model, with the sorts of their values as the catalogue has them.

        """
        asked = {name: values for name, sort in inert.items() if (values := self._values(name, sort))}
        shown: set[tuple[str, bool]] = set()  # fields with an effect, and whether null has it

        def same(said: Mapping[str, Any]) -> bool | None:
            told, before = self._told(said), self.before
            if told is None or before is None or (before[1] and not told[1] and told[0] == before[0]):
                return None  # the class cannot be built or run with it
            if told != before and len(said) == 1:
                shown.update((name, value is None) for name, value in said.items())
            return told == before

        held = inert_subset(asked, same) if self.deep else {}
        for name in asked:
            if PERIOD.search(field_name(name)) and name not in held and (name, True) not in shown:
                shown.add((name, False))
        found = {
            name: "|".join(
                each
                for each in inert[name].split("|")
                if ((name, False) in shown and each in NUMBERS) or ((name, True) in shown and each == "null")
            )
            for name in asked
        }
        return {name: sorts for name, sorts in found.items() if sorts}

    def without_effects(
        self, entry: Mapping[str, Any], switches: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fields and the switches of an entry with the sorts of ``effects`` no longer without effect.

        If they do not affect the stored parameters, the entry still covers the parameters at such values.
        """
        inert, stored, usual = dict(entry["inert"]), dict(entry["inert_for_params"]), dict(switches)
        for name, found in self.effects(inert).items():
            known = stored.get(name, "").split("|")
            kept = [each for each in inert.pop(name).split("|") if each not in found.split("|")]
            if kept:
                inert[name] = "|".join(kept)
            if self._stores(name, found):
                stored[name] = "|".join(dict.fromkeys(filter(None, (*known, *found.split("|")))))
            if name in self.trials.usual:
                usual[name] = self.trials.usual[name]
        return {**entry, "inert": inert, "inert_for_params": stored}, usual

    def _stores(self, name: str, sorts: str) -> bool:
        """Return True if no value of these sorts changes the stored parameters, or the class rejects it."""
        told = (self._told({name: value}) for value in self._values(name, sorts))
        return self.before is not None and all(each is None or each[0] == self.before[0] for each in told)

    def _values(self, name: str, sort: str) -> list[Any]:
        """Return the values to test for a field: one that the class stores, or the period of a pattern.

        A window is without effect while its switch is off, and the catalogue knows no run with the switch on.
        """
        usual, sorts, word = self.trials.usual.get(name), sort.split("|"), field_name(name)
        if not PERIOD.search(word) and (name not in self.trials.usual or is_window(word) or word in WINDOWS):
            return []
        values: list[Any] = [*PERIODS] if {*sorts} & {"int", "integer"} else []
        if "bool" in sorts and not values:
            values = [True, False]
        values = [each for each in values if each != usual or type(each) is not type(usual)]
        return values + [None] * ("null" in sorts and bool(values) and usual is not None)

    def _told(self, said: Mapping[str, Any]) -> Told | None:
        return self._of({**self.setting, **said})

    def _of(self, said: Mapping[str, Any]) -> Told | None:
        point = self.trials.filled({**self.turned, **said})
        return self.trials.told({name: value for name, value in point.items() if name not in self.lists})

    def _windows(self) -> dict[str, Any]:
        """Return short windows for the layers that have one, also if they have none by default."""
        found: dict[str, Any] = {}
        for name, usual in self.trials.usual.items():
            word = field_name(name)
            if isinstance(usual, bool) and word in WINDOWS:
                found[name] = True
            elif type(usual) is int and word in WINDOWS and DEEP.search(word):  # the layers without a window
                found[name] = DEPTH // 2
            elif (type(usual) is int and usual > WINDOW and is_window(word)) or (usual is None and word in WINDOWS):
                found[name] = WINDOW
        return found

    def _accepted(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return these fields if the class runs with them, or else those with which it does, one after another."""
        usual = self._of({})

        def runs(said: Mapping[str, Any]) -> bool:
            told = self._of(said)
            return told is not None and (usual is None or bool(told[1]) >= bool(usual[1]))

        if runs(fields):
            return dict(fields)
        found: dict[str, Any] = {}
        for name, value in fields.items():
            if runs({**found, name: value}):
                found[name] = value
        return found

    def _derived_lists(self) -> set[str]:
        """Return the lists in parts that the config class derives from other fields if they are omitted."""
        found: set[str] = set()
        for name, usual in self.trials.usual.items():
            if isinstance(usual, list) and len(usual) > 1 and part_of(name):
                whole = self.trials.filled({name: usual})
                fewer = {other: value for other, value in whole.items() if other not in {*found, name}}
                if self.trials.said(fewer) == self.trials.usual:
                    found.add(name)
        return found
