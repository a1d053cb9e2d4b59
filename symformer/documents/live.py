"""The live page of a model, or of two beside each other: what it says without scripts, and what it reckons with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from ..language.errors import DocumentError
from ..language.target import name_of
from ..models.model import Model
from ..quantities import quantity as find_quantity
from .blocks import Block, Document, Heading, References, numbered
from .derivation import document
from .formats.live import Live
from .sheet import Sheet, sheet
from .variants import FORMS, Variants

MOST = 150_000  # bytes of a page
ROOM = tuple(FORMS >> times for times in range(FORMS.bit_length()))  # formulas of one model, from many to one


def page(
    models: Sequence[Model], quantities: Sequence[str], version: str, form: str = "full", **conventions: str
) -> bytes:
    """A live page of one quantity. It has the short form of the derivation where the full one is too long, and fewer
    switches where these are.

    Raises DocumentError for more than two models or one quantity, or where nothing makes it short enough.
    """
    if len(quantities) != 1:
        raise DocumentError(f"a live page is of one quantity, and {', '.join(quantities)} are asked for; keep one")
    if len(models) > 2:
        raise DocumentError(f"a live page sets at most two models side by side, and {len(models)} are named; keep two")
    (quantity,) = quantities
    if len({model.target for model in models}) < len(models):
        raise DocumentError(f"{models[0].target} is named twice; a live page of one compares it with itself as well")
    choices = find_quantity(quantity).choices
    given = {name: value for name, value in conventions.items() if name in choices}
    forms = ("full", "short") if form == "full" and len(models) == 1 else ("short",)
    each = [Variants(model, quantity, given) for model in models]
    shares = Sheet().shares
    told: dict[int, Mapping[str, object]] = {}
    written: dict[str, Document] = {}
    for most, length in sorted(product(ROOM, forms), key=lambda pair: -pair[0]):
        if most not in told:
            told[most] = sheet([replace(variants, most=most) for variants in each], Sheet(shares=shares))
        if length not in written:
            written[length] = _document(models, quantity, version, length, given)
        made = Live(told[most]).render(written[length], "")
        if len(made) < MOST:
            return made
    raise DocumentError(
        f"a live page of {quantity} of {' and '.join(name_of(model.target) for model in models)} takes "
        f"{len(made):,} bytes, and at most {MOST:,} are written; leave --live out"
    )


def _document(
    models: Sequence[Model], quantity: str, version: str, form: str, conventions: Mapping[str, str]
) -> Document:
    """What stands there without scripts: one derivation, or a short one of each model."""
    each = [document(model, [quantity], version, form=form, **conventions) for model in models]
    first = each[0]
    if len(each) == 1 or len({model.id for model in models}) == 1:
        return first
    blocks: list[Block] = []
    entries: dict[str, tuple[str, str, str, str]] = {}
    for model, made in zip(models, each, strict=True):
        blocks.append(Heading(1, [model.title]))
        for block in made.blocks:
            if isinstance(block, References):
                entries |= {entry[0]: entry for entry in block.entries}
            elif not (isinstance(block, Heading) and block.line == ["References"]):
                blocks.append(replace(block, level=block.level + 1) if isinstance(block, Heading) else block)
    blocks, keys = numbered(blocks)
    if keys:
        blocks += [Heading(1, ["References"]), References([entries[key] for key in keys])]
    measure = find_quantity(quantity).measure.title
    title = f"{' and '.join(model.title for model in models)}: {measure} in closed form"
    return replace(first, title=title, blocks=blocks)
