"""Copies that are told apart by a number inside a name, as in encoder_layer_3 or weight_ih_l3: which names these are.

A number inside a name counts copies where a size that grows brings the same name with another number; such a name is
then written as the members of a list are, encoder_layer.3. A number that no size moves is a name like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set

from ..language.errors import WitnessError
from .watching import Rows

NUMBER = re.compile(r"\d+")
Template = tuple[str, str]  # what stands before a number in a word, and what after it


class Numbering:
    """The names whose numbers count copies, and rows by the paths that say so."""

    def __init__(self, last: bool) -> None:
        self.last = last  # whether the last word of a path is a name too, and not the operation that ran
        self.templates: set[Template] = set()
        self.known: dict[int, tuple[Rows, Rows]] = {}  # rows as they were given, and as they are named

    def learn(self, rows: Rows, others: Iterable[Rows]) -> bool:
        """Whether larger models bring new numbers of names that were there; from now on these count copies."""
        here: dict[Template, set[str]] = {}
        for template, number in self._numbers(rows):
            here.setdefault(template, set()).add(number)
        found = {
            template
            for other in others
            for template, number in self._numbers(other.keys() - rows.keys())
            if template in here and number not in here[template] and not self._clash(template, {*rows, *other})
        }
        new = found - self.templates
        self.templates |= new
        if new:
            self.known.clear()
        return bool(new)

    def rows(self, rows: Rows) -> Rows:
        """The same rows, each copy a member of a list. Raises WitnessError where two would have one name."""
        if not self.templates:
            return rows
        if id(rows) in self.known:  # which are kept here, so that no others are at their place
            return self.known[id(rows)][1]
        named = {self.path(path): shape for path, shape in rows.items()}
        if len(named) != len(rows):
            raise WitnessError("two names that differ in more than the number of a copy would be the same without it")
        self.known[id(rows)] = rows, named
        return named

    def path(self, path: str) -> str:
        """A path whose numbers that count stand by themselves."""
        words = path.split(".")
        last = len(words) - (not self.last)
        return ".".join([*(self._word(word) for word in words[:last]), *words[last:]])

    def _word(self, word: str) -> str:
        for template, number in _split(word):
            if template in self.templates:
                return f"{_name(template)}.{number}"
        return word

    def _numbers(self, paths: Iterable[str]) -> Iterator[tuple[Template, str]]:
        for path in paths:
            words = path.split(".")
            for word in words[: len(words) - (not self.last)]:
                yield from _split(word)

    def _clash(self, template: Template, paths: Set[str]) -> bool:
        """Whether the name without its number is one already, so that nobody could tell the two apart."""
        return any(_name(template) in path.split(".") for path in paths)


def _split(word: str) -> Iterator[tuple[Template, str]]:
    """A word that is more than a number, around each number in it."""
    if not word.isdigit():
        for each in NUMBER.finditer(word):
            yield (word[: each.start()], word[each.end() :]), each[0]


def _name(template: Template) -> str:
    return template[0].rstrip("_") + template[1]
