"""Letters shared by several models: equal numbers, or no numbers, share a letter; other sizes get an index."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet

from sympy import Symbol

from ..language.sizes import Numbers
from ..language.symbols import numbered, print_order


def own_letters(
    known: Sequence[Numbers], used: Sequence[AbstractSet[Symbol]], apart: Collection[tuple[int, Symbol]] = ()
) -> list[dict[Symbol, Symbol]]:
    """Return, for each model, its letters that differ between models, with their new names.

    A letter with two numbers is split into two sizes, each with the position of the first model that has it as its
    index. A letter without a number in a model is assumed equal to the only other one. ``apart`` has the positions and
    letters that are always separate sizes.

    >>> from symformer.language.symbols import E, L
    >>> own_letters([{E: 8, L: 2}, {E: 8, L: 3}, {E: 9, L: 2}], [{E, L}] * 3)
    [{L: L_1, E: E_1}, {L: L_2, E: E_1}, {L: L_1, E: E_3}]
    """
    own: list[dict[Symbol, Symbol]] = [{} for _ in known]
    names = {size.name for sizes in used for size in sizes}
    for size in sorted(set().union(*used), key=print_order):
        places = [place for place, sizes in enumerate(used) if size in sizes]
        groups: dict[object, list[int]] = {}
        for place in places:
            kept: object = ("apart", place) if (place, size) in apart else known[place].get(size)
            groups.setdefault(kept, []).append(place)
        if None in groups:
            numbers = [each for each in groups if isinstance(each, int)]
            loose = groups.pop(None)
            if len(numbers) == 1:
                groups[numbers[0]] = sorted([*groups[numbers[0]], *loose])
            elif numbers:
                groups |= {("loose", place): [place] for place in loose}
            else:
                groups["loose"] = loose
        if len(groups) > 1:
            for each in groups.values():
                for place in each:
                    own[place][size] = numbered(size, each[0] + 1, names)
    return own


def renamed_numbers(numbers: Numbers, used: AbstractSet[Symbol], own: Mapping[Symbol, Symbol]) -> Numbers:
    """Return the numbers of the used sizes, by their new names."""
    return {own.get(size, size): number for size, number in numbers.items() if size in used}
