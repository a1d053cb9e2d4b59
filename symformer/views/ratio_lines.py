"""The text of one quantity divided by another: the quotient, its value, and its limits as a size grows."""

from __future__ import annotations

from collections.abc import Iterator

from ..algebra.quantity_ratio import QuantityRatio
from ..language.notation.display_tree import value
from ..language.symbols import RANK, letter
from .comparison_lines import Spell, limits, spelt


def row(found: QuantityRatio, spell: Spell) -> list[str]:
    """Return the cells of a row: the model, the quotient, its leading terms, and its value."""
    number = "" if found.value is None else spelt(found.value)
    name = found.model.target + (f" ({found.part})" if found.part else "")
    return [name, spell(found.ratio), spell(found.leading), number]


def facts(found: QuantityRatio, spell: Spell) -> Iterator[str]:
    """Yield the conventions, the sizes, the sizes without a value, and the limits of the quotient."""
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
        yield f"no value for {', '.join(lacking)}: set each with --set"
    yield from (f"{model.target}: {each}" for each in limits(found.limits, model.known, spell))
