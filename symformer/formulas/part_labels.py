"""The labels of the parts of a derivation: each part has a name of its own, as short as the other names permit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable

from sympy import Expr

from ..language.notation.display_tree import Label
from ..language.path_names import path_names
from .account import Line, Measure

COMMON, REST = "common", "rest"


def part_labels(
    root: Line, measure: Measure, commons: Collection[int], total: Callable[[Line], Expr], operations: Iterable[Line]
) -> dict[int, Label]:
    """Return a label for each part and for the given operations, by the id of its line.

    Parts at different places have different labels, also if their totals are equal. Layers of several kinds are one
    list in the class, so parts of theirs at one place in a layer have the same label if their totals are equal.

    Parameters
    ----------
    root
        The whole model.
    measure
        The quantity.
    commons
        The ids of the lines of what all layers of a list have in common.
    total
        Returns the total that a label stands for.
    operations
        The operations that have a label.

    """
    kinds = [line for line in root.parts() if line.listed]
    names: dict[tuple[str, Expr], dict[str, bool]] = {}
    places: list[tuple[Line, tuple[str, Expr]]] = []
    for line in (*root.parts(), *operations):
        truth = total(line)
        place = (_in_class(line, kinds) + f".{COMMON}" * (id(line) in commons), truth)
        places.append((line, place))
        if truth == 0:  # it is not shown, so it leaves the short names to others
            continue
        found = names.setdefault(place, {})
        for name, is_end in _names(_words(line, root, id(line) in commons), line.path).items():
            found[name] = found.get(name, False) or is_end
    ends = Counter(name for each in names.values() for name, is_end in each.items() if is_end)
    anywhere = Counter(name for each in names.values() for name in each)
    labels: dict[int, Label] = {}
    for line, place in places:
        words = _words(line, root, id(line) in commons)
        own = _names(words, line.path)
        shown = place in names
        alone = (name for name, is_end in own.items() if shown and (ends if is_end else anywhere)[name] == 1)
        labels[id(line)] = Label(measure.letter, next(alone, ".".join(words)), place[1])
    return labels


def _names(words: list[str], path: str) -> dict[str, bool]:
    """Return the names of a part from the shortest, each with whether it is the end of its key."""
    below = [word for place, word in enumerate(words) if f".{word}.*." not in f".{path}." or place == len(words) - 1]
    found: dict[str, bool] = {}
    for _, name, ends in path_names(words, below, 2 if words[-1] == REST else 1):
        found.setdefault(name, ends)
    return found


def _in_class(line: Line, kinds: Iterable[Line]) -> str:
    """Return the key of a part in the class, in which layers of several kinds are one list."""
    kind = next((each for each in kinds if line.key.startswith(f"{each.key}.")), None)
    return line.key if kind is None else kind.listed.removesuffix(".*") + line.key.removeprefix(kind.key)


def _words(line: Line, root: Line, common: bool) -> list[str]:
    """Return the words of a line's label: its key, and the counted part if it is not the whole module."""
    words = line.key.split(".")
    if common:
        return [*words, COMMON]
    if line is root or not line.path or line.among is not None:
        return words
    inside = {id(below) for below in line.walk()}
    apart = any(
        each.path.startswith(f"{line.path}.") and each.path.endswith(".*") and id(each) not in inside
        for each in root.parts()
        if each.key.startswith(f"{line.key}.")
    )
    return [*words, REST] if apart else words
