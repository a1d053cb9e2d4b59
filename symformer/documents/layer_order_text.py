"""The order of layers of several kinds, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from sympy import Expr, Integer, Symbol, expand

from ..language.symbols import letter
from ..ledger.facts import Ledger, Scope
from ..ledger.layer_kinds import mixtures
from ..output.blocks import Code, Math, Piece, listed, maybe

LISTED = 12  # numbers of layers in a sentence
FEW = 5  # numbers of equally spaced layers that are listed
ONE = " is "


def layer_order(ledger: Ledger, layers: Sequence[Symbol], known: Mapping[Symbol, int]) -> dict[str, list[Piece]]:
    """Return a sentence on the order of the kinds of layers, by the path of their list.

    Parameters
    ----------
    ledger
        The ledger of the model.
    layers
        The size that counts each layer, from the first layer to the last; empty if the order is not known.
    known
        The sizes of the model.

    """
    found: dict[str, list[Piece]] = {}
    for mixture, kinds in mixtures(ledger.apart).items():
        if len(kinds) < 2:
            continue
        if mixture.order == "kind by kind":
            found[mixture.path] = _one_after_another(kinds, mixture.total)
        else:
            found[mixture.path] = _numbered(kinds, layers, known)
    return found


def _one_after_another(kinds: Sequence[Scope], total: Expr) -> list[Piece]:
    ranges: list[list[Piece]] = []
    before: Expr = Integer(0)
    for kind in kinds:
        after = expand(before + kind.count)
        first, last = Math.of(expand(before + 1)), Math.of(total if kind is kinds[-1] else after)
        alone: list[Piece] = ["layer ", first, ONE]
        several: list[Piece] = ["layers ", first, " to ", last, " are "]
        # The section of the model gives each kind of these layers its name, with the meaning.
        one = kind.count == 1
        ranges.append([*alone, *_kind(kind.count, kind.name, one)] if one else [*several, *_named(kind.name)])
        before = after
    return ["In order, ", *listed(*ranges), "."]


def _numbered(kinds: Sequence[Scope], layers: Sequence[Symbol], known: Mapping[Symbol, int]) -> list[Piece]:
    counts = {kind.count: kind for kind in kinds if known.get(kind.count) != 0}
    order = [size for size in layers if size in counts]
    if Counter(order) != {size: known.get(size) for size in counts} or len(counts) < 2:
        return ["The kinds of layers follow each other in the order that the model's config lists."]
    *others, most = sorted(counts, key=order.count)
    numbers = {size: _places([place for place, each in enumerate(order, 1) if each == size]) for size in others}
    said: list[list[Piece]] = [
        [where, *_kind(size, counts[size].name, one=where.endswith(ONE))] for size, where in numbers.items() if where
    ]
    rest = [_kind(size, counts[size].name) for size in (*(size for size in others if not numbers[size]), most)]
    mixed = [", in the order that the model's config lists"] if rest[1:] else []
    said.append(["all others are ", *listed(*rest), *mixed])
    told = [piece for place, each in enumerate(said) for piece in (*maybe(place, "; "), *each)]
    return [f"Of the {len(order)} layers, ", *told, "."]


def _kind(count: Expr, name: str, one: bool = False) -> list[Piece]:
    """Return a kind of layers, or one layer of it, in words: the meaning of the size that counts it.

    A kind without such a size has the name that the section of the model gives it.
    """
    meaning = letter(count).meaning if isinstance(count, Symbol) else ""
    if meaning.startswith("layers "):
        return [meaning.replace("layers ", "a layer ", 1) if one else meaning]
    return _named(name)


def _named(name: str) -> list[Piece]:
    return ["the ", Code(name.removesuffix(".*"))]


def _places(places: Sequence[int]) -> str:
    """Return the numbers of layers in words; empty if there are too many.

    >>> _places([6, 12, 18]), _places([6, 12, 18, 24, 30, 36, 42]), _places([2])
    ('layers 6, 12 and 18 are ', 'every 6th layer from 6 to 42 is ', 'layer 2 is ')
    >>> _places([1, 2, 3, 7]), _places([2, 4])
    ('layers 1 to 3 and 7 are ', 'layers 2 and 4 are ')
    """
    steps = {after - before for before, after in pairwise(places)}
    if len(places) > FEW and len(steps) == 1 and steps != {1}:
        (step,) = steps
        return f"every {_ordinal(step)} layer from {places[0]} to {places[-1]}{ONE}"
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    if len(runs) > LISTED:
        return ""
    words = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    if places == [places[0]]:
        return f"layer {words[0]}{ONE}"
    return f"layers {', '.join(words[:-1])}{' and ' if words[1:] else ''}{words[-1]} are "


def _ordinal(number: int) -> str:
    """Return a number as a place: 2nd, 6th."""
    tens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if tens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
