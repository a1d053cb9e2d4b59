"""What a terminal says of one quantity over another: the quotient, its number, and where it goes as a size grows."""

from __future__ import annotations

from collections.abc import Iterator

from ..algebra.over import Over
from ..language.notation.tree import value
from ..language.symbols import RANK, letter
from .compared import Spell, limits, spelt


def row(found: Over, spell: Spell) -> list[str]:
    """The model, the quotient, its leading terms, and its number."""
    number = "" if found.value is None else spelt(found.value)
    name = found.model.target + (f" ({found.part})" if found.part else "")
    return [name, spell(found.ratio), spell(found.leading), number]


def facts(found: Over, spell: Spell) -> Iterator[str]:
    """The conventions, the sizes and what has no number, and where the quotient goes as one size grows alone."""
    counted = {**found.below.conventions, **found.above.conventions}
    yield from (f"{name} = {choice}" for name, choice in counted.items())
    yield from found.of_ranks(spell)
    model = found.model
    has = [f"{name} = {choice}" for name, choice in model.component.chosen.items()]
    used = value(found.ratio).free_symbols
    has += [f"{size} = {number:,}" for size, number in model.known.items() if size in used]
    if has:
        yield f"{model.target} has {', '.join(has)}"
    for total in sorted(found.above.totals & used, key=RANK.__getitem__):
        yield f"{total} is {spell(found.above.relations[total])}"
    free = sorted(used - model.known.keys(), key=RANK.__getitem__)
    if lacking := [str(size) for size in free if letter(size).run]:
        yield f"no number for {', '.join(lacking)}: give each with a --set of its own"
    yield from (f"{model.target}: {each}" for each in limits(found.limits, model.known, spell))
