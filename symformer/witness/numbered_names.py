"""Names with a copy number inside, such as encoder_layer_3 or weight_ih_l3.

A number inside a name counts copies if a larger size adds the same name with another number. Such a name is then
written like a list member, encoder_layer.3. Other numbers are part of the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set

from ..language.errors import WitnessError
from .dispatch_recorders import Rows

NUMBER = re.compile(r"\d+")
Template = tuple[str, str]  # the text before and after a number in a word


class NumberedNames:
    """The names whose numbers count copies, and rows with paths written accordingly."""

    def __init__(self, last: bool) -> None:
        self.last = last  # True if the last word of a path is a name, False if it is the operation that ran
        self.templates: set[Template] = set()
        self.known: dict[int, tuple[Rows, Rows]] = {}  # rows as given, and as renamed

    def learn(self, rows: Rows, others: Iterable[Rows]) -> bool:
        """Record the names that larger models add with new numbers; return True if there are new ones."""
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
        """Return the rows with each copy as a list member. Raises WitnessError if two get the same name."""
        if not self.templates:
            return rows
        if id(rows) in self.known:  # the rows are kept here, so their ids are not reused
            return self.known[id(rows)][1]
        named = {self.path(path): shape for path, shape in rows.items()}
        if len(named) != len(rows):
            raise WitnessError("two parameter names that differ in more than a copy number become equal without it")
        self.known[id(rows)] = rows, named
        return named

    def path(self, path: str) -> str:
        """Return a path with its copy numbers as separate words."""
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
        """Return True if the name without its number already exists."""
        return any(_name(template) in path.split(".") for path in paths)


def _split(word: str) -> Iterator[tuple[Template, str]]:
    """Yield the text around each number in a word, and the number; nothing if the word is a number."""
    if not word.isdigit():
        for each in NUMBER.finditer(word):
            yield (word[: each.start()], word[each.end() :]), each[0]


def _name(template: Template) -> str:
    return template[0].rstrip("_") + template[1]
