"""Targets to compare, with the sizes, options and parts that apply to all of them or to one only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..formulas.formula import Formula
from ..language.errors import (
    UNSUPPORTED,
    OptionError,
    SizeError,
    UnknownNameError,
    alternatives,
    joined,
    naming,
    quoted,
)
from ..language.sizes import Relations, assignments
from ..language.symbols import FORMER, SYMBOLS, NamedSizes
from ..language.target import TargetKind, parse
from ..models.model import Model
from ..quantities import quantity as find_quantity
from ..quantities.spellings import spelled
from .resolution import pairs, resolve

_PLACE = re.compile(r"\s*(\d{1,6}):(.*)", re.DOTALL)


@dataclass(frozen=True)
class SideBySideTargets:
    """Targets, with the arguments that apply to all of them and those that apply to one only, by position."""

    targets: tuple[str, ...]
    asked: tuple[str, ...]  # the quantities
    sets: Sequence[Sequence[str]]  # the first for all, then for each
    options: Sequence[Mapping[str, str]]  # the first for all, then for each
    parts: Sequence[str]  # one per target, empty for the whole model
    same: str | None  # the quantity that is made equal; its sizes can be set too
    skip_refused: bool = False  # whether a quantity that a model does not support has no sizes, instead of an error

    @classmethod
    def of(
        cls,
        targets: Sequence[str],
        asked: Sequence[str],
        sets: Sequence[str],
        options: Sequence[str],
        parts: Sequence[str] = (),
        left: Sequence[str] = (),
        right: Sequence[str] = (),
        same: str | None = None,
        skip_refused: bool = False,
    ) -> SideBySideTargets:
        """Return the targets with the arguments of a command line.

        ``2:H=4*E`` and everything in ``right`` apply to the second target only. Raises OptionError for a position
        without a target, and for ``left`` or ``right`` unless there are exactly two targets.
        """
        own = [*options, *(f"1:{each}" for each in left), *(f"2:{each}" for each in right)]
        if (left or right) and len(targets) != 2:
            raise OptionError(
                f"--left and --right need exactly two models, not {len(targets)}; give the position of the model "
                "instead, as in --option 3:tied=false or --set 3:H=4*E"
            )
        known = {name: choice for each in asked for name, choice in find_quantity(each).choices.items()}
        given = [_placed(each, targets) for each in own]
        sizes = [_placed(each, targets) for each in sets]
        for place, argument in list(given[len(options) :]):  # left and right take sizes as well
            if argument.partition("=")[0].strip() in {*SYMBOLS, *FORMER}:
                given.remove((place, argument))
                sizes.append((place, argument))
        places = range(len(targets) + 1)
        named = [_placed(each, targets) for each in parts]
        for place in places:
            if len(twice := [part for where, part in named if where == place]) > 1:
                raise OptionError(f"--part is given twice, as {quoted(twice[0])} and as {quoted(twice[1])}; keep one")
        chosen = dict(named)
        for name in chosen.values():
            if not name.strip():
                raise OptionError("the name of the part is empty; give one, such as --part 1:h, or remove --part")
        return cls(
            tuple(targets),
            tuple(asked),
            [[argument for where, argument in sizes if where == place] for place in places],
            [spelled(pairs([argument for where, argument in given if where == place]), known) for place in places],
            [chosen.get(place, chosen.get(0, "")) for place in places[1:]],
            same,
            skip_refused,
        )

    def formulas(self) -> list[list[Formula]]:
        """Return the formulas of the targets, one list per quantity.

        Raises UnknownNameError for an option and SizeError for a size that no target has.
        """
        models, conventions = self.models()
        found = []
        for name in self.asked:
            known = find_quantity(name).choices
            formulas = []
            for model, own, part in zip(models, conventions, self.parts, strict=True):
                with naming(model.target):
                    whole = model.formula(name, **{key: choice for key, choice in own.items() if key in known})
                    formulas.append(whole.part(part) if part else whole)
            found.append(formulas)
        return found

    @property
    def _counted(self) -> list[str]:
        return [*dict.fromkeys([*self.asked, *([self.same] if self.same else [])])]

    def models(self) -> tuple[list[Model], list[dict[str, str]]]:
        """Return each model with its options and sizes, and the conventions among its options.

        Raises UnknownNameError for an option and SizeError for a size that no target has.
        """
        known = {name: choice for each in self.asked for name, choice in find_quantity(each).choices.items()}
        starts = [
            [*self.sets[0], *own] if parse(target).kind is TargetKind.FACTORY else []
            for target, own in zip(self.targets, self.sets[1:], strict=True)
        ]
        models = []
        for target, start in zip(self.targets, starts, strict=True):
            with naming(target):
                models.append(resolve(target, sets=start)[0])
        choices = [dict.fromkeys(model.component.choices()) for model in models]
        names = joined(self.targets)
        for name in self.options[0].keys() - known.keys():
            if not any(name in each for each in choices):
                every = {key: None for each in choices for key in each}
                raise UnknownNameError(f"option of {names}", name, {**every, **known})
        conventions = []
        for place, target in enumerate(self.targets):
            own = {**self.options[0], **self.options[place + 1]}
            for name in self.options[place + 1]:
                if name not in known and name not in choices[place]:
                    raise UnknownNameError(f"option of {target}", name, {**choices[place], **known})
            conventions.append({name: choice for name, choice in own.items() if name in known})
            if mine := {name: choice for name, choice in own.items() if name in choices[place] and name not in known}:
                with naming(target):
                    models[place], _ = resolve(target, mine, starts[place])
        return self._sized(models, conventions), conventions

    def _sized(self, models: Sequence[Model], conventions: Sequence[Mapping[str, str]]) -> list[Model]:
        every = NamedSizes.joined(model.settable for model in models)
        # A config field can have another letter in each model.
        known = [NamedSizes(every, {**every.names, **model.settable.names}) for model in models]
        shared = [assignments(self.sets[0], sizes) for sizes in known]
        own = [assignments(each, sizes) for each, sizes in zip(self.sets[1:], known, strict=True)]
        taken = [self._taken(model, each) for model, each in zip(models, conventions, strict=True)]
        what = " or ".join(self._counted)
        for names in zip(*shared, strict=True):
            if not any(name in each for name, each in zip(names, taken, strict=True)):
                owners = alternatives(self.targets)
                raise SizeError(f"{names[0]} ({models[0].meaning(names[0])}) is not a size of {owners} in {what}")
        found = []
        for place, model in enumerate(models):
            some = {name: each for name, each in shared[place].items() if name in taken[place]}
            sizes: Relations = {**some, **own[place]}
            for name in own[place]:
                if name not in taken[place]:
                    raise SizeError(f"{name} ({model.meaning(name)}) is not a size of {model.target} in {what}")
            with naming(model.target):
                found.append(model.set(sizes) if self.sets[0] or own[place] else model)
        return found

    def _taken(self, model: Model, conventions: Mapping[str, str]) -> set[object]:
        """Return the sizes that can be set for the quantities of a model."""
        found: set[object] = set()
        for name in self._counted:
            known = find_quantity(name).choices
            with naming(model.target), suppress(*(UNSUPPORTED if self.skip_refused else ())):
                formula = model.formula(name, **{key: each for key, each in conventions.items() if key in known})
                found |= formula.accepted_sizes | formula.defining_sizes
        return found


def _placed(argument: str, targets: Sequence[str]) -> tuple[int, str]:
    """Return the position that an argument names, or 0 for all targets, and the rest of the argument."""
    found = _PLACE.match(argument)
    if found is None:
        return 0, argument
    place = int(found[1])
    if not 1 <= place <= len(targets):
        raise OptionError(
            f"{quoted(argument)} refers to model {place}, but only {len(targets)} are given: 1 is {targets[0]}, "
            f"{len(targets)} is {targets[-1]}"
        )
    return place, found[2]
