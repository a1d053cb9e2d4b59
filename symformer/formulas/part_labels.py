"""The labels of the parts of a derivation: each part has a name of its own, as short as the other names permit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

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
    below = [line for line in root.walk() if line.entry is not None]
    calls = Counter(line.path for line in below)
    operations = [*operations]
    labelled = (*root.parts(), *operations)
    names: dict[tuple[str, Expr], dict[str, bool]] = {}
    places: list[tuple[Line, tuple[str, Expr], dict[str, bool]]] = []
    for line in labelled:
        truth = total(line)
        common = id(line) in commons
        place = (_in_class(line, kinds) + f".{COMMON}" * common, truth)
        own = _names(_words(line, root, common, calls), line.path)
        places.append((line, place, own))
        if truth == 0:  # it is not shown, so it leaves the short names to others
            continue
        found = names.setdefault(place, {})
        for name, is_end in own.items():
            found[name] = found.get(name, False) or is_end
    every = [*names.values()]
    # Modules without a label make a name ambiguous, too, but not the module conv.conv the name of the module conv.
    paths = {line.path for line in labelled}
    others = {_in_class(line, kinds): line for line in below if line.each != 0 and line.path not in paths}
    modules = [_words(line, root, False, calls) for line in others.values()]
    every += [_names(words, ".".join(words)) for words in modules if words[-2:-1] != words[-1:]]
    ends = Counter(name for each in every for name, is_end in each.items() if is_end)
    anywhere = Counter(name for each in every for name in each)
    labels: dict[int, Label] = {}
    for line, place, own in places:
        shown = place in names
        alone = (name for name, is_end in own.items() if shown and (ends if is_end else anywhere)[name] == 1)
        words = _words(line, root, id(line) in commons, calls)
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


def _words(line: Line, root: Line, common: bool, calls: Mapping[str, int]) -> list[str]:
    """Return the words of a line's label: its key, and the counted part if it is not the whole module.

    An operation that is the only one of its module has the path of the module, also of modules without a line.
    """
    words = line.key.split(".")
    if line.entry is not None and line.path and calls[line.path] == 1:
        return [word for word in line.path.split(".") if word != "*"]
    if common:
        return [*words, COMMON]
    if line is root or not line.path or line.among is not None:
        return words
    return [*words, REST] if is_rest(line, root) else words


def is_rest(line: Line, root: Line) -> bool:
    """Return whether the label of a part says that it is the rest of a module, whose layers are counted separately."""
    return any(name.endswith(".*") for name in modules_apart(line, root))


def modules_apart(line: Line, root: Line) -> tuple[str, ...]:
    """Return the modules inside the module of a part that do not belong to the part, such as the mergers of an encoder.

    Their paths start at the module; a list of layers ends in ``.*``.
    """
    if line is root or not line.path or line.among is not None:
        return ()
    inside = {id(below) for below in line.walk()}
    found = [
        each.path
        for each in root.parts()
        if id(each) not in inside and each.key.startswith(f"{line.key}.") and each.path.startswith(f"{line.path}.")
    ]
    outermost = [path for path in found if not any(path.startswith(f"{other}.") for other in found)]
    return tuple(dict.fromkeys(path.removeprefix(f"{line.path}.") for path in outermost))
