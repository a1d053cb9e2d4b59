"""The live page of one model, or of two side by side: its document and the data that its script computes with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from ..language.errors import DocumentError
from ..models.model import Model
from ..output.blocks import Block, Document, Heading, References
from ..quantities import quantity as find_quantity
from ..quantities.time_quantity import TimeQuantity
from ..views.derivation_facts import DerivationFacts, derivation_facts
from ..views.model_variants import FORMS, Variants
from .derivation_document import laid_out
from .formats.live_html import Live
from .live_data import Sheet, sheet
from .references import with_references

MOST = 200_000  # bytes of a page
ROOM = tuple(FORMS >> times for times in range(FORMS.bit_length()))  # formulas of one model, from many to one


def page(
    models: Sequence[Model], quantities: Sequence[str], version: str, form: str = "full", **conventions: str
) -> bytes:
    """Return a live page of one quantity as HTML.

    If the page is too long, it has the short form of the derivation, and then fewer switches.

    Parameters
    ----------
    models
        One model, or two to compare.
    quantities
        The name of the quantity.
    version
        The version of symformer, for the subtitle.
    form
        "full" or "short".
    conventions
        Values of the quantity's conventions.

    Raises
    ------
    DocumentError
        For more than two models or one quantity, for a lower bound, or if no form is short enough.

    """
    if len(quantities) != 1:
        raise DocumentError(f"a live page shows one quantity, but {', '.join(quantities)} are given; keep one")
    if len(models) > 2:
        raise DocumentError(f"a live page shows at most two models, but {len(models)} are given; keep two")
    (quantity,) = quantities
    if len({model.target for model in models}) < len(models):
        raise DocumentError(
            f"{models[0].target} is given twice; a live page of one model can also compare it with itself"
        )
    if isinstance(find_quantity(quantity), TimeQuantity):
        raise DocumentError(f"a live page shows counts and ratios, and {quantity} is a lower bound; omit --live")
    choices = find_quantity(quantity).choices
    given = {name: value for name, value in conventions.items() if name in choices}
    forms = ("full", "short") if form == "full" and len(models) == 1 else ("short",)
    each = [Variants(model, quantity, given) for model in models]
    derivations = [derivation_facts(model, quantities, given, full="full" in forms) for model in models]
    shares = Sheet().shares
    figure = derivations[0].figure if len(models) == 1 else None
    told: dict[int, Mapping[str, object]] = {}
    written: dict[str, Document] = {}
    for most, length in sorted(product(ROOM, forms), key=lambda pair: -pair[0]):
        if most not in told:
            facts = [replace(variants, most=most).facts() for variants in each]
            told[most] = sheet(facts, Sheet(shares=shares), figure)
        if length not in written:
            written[length] = _document(derivations, version, length)
        made = Live(told[most]).render(written[length], "")
        if len(made) < MOST:
            return made
    raise DocumentError(
        f"the live page of {quantity} for {' and '.join(model.name for model in models)} has "
        f"{len(made):,} bytes, which exceeds the limit of {MOST:,}; omit --live"
    )


def _document(models: Sequence[DerivationFacts], version: str, form: str) -> Document:
    """Return the document shown without scripts: one derivation, or a short one per model."""
    each = [laid_out(model, version, form=form) for model in models]
    first = each[0]
    if len(each) == 1 or len({model.subject.id for model in models}) == 1:
        return first
    blocks: list[Block] = []
    for model, made in zip(models, each, strict=True):
        blocks.append(Heading(1, [model.subject.title]))
        for block in made.blocks:
            if not (isinstance(block, References) or (isinstance(block, Heading) and block.line == ["References"])):
                blocks.append(replace(block, level=block.level + 1) if isinstance(block, Heading) else block)
    blocks, _ = with_references(blocks)
    measure = models[0].quantities[0].formula.measure
    title = f"{' and '.join(model.subject.title for model in models)}: {measure.title} in closed form"
    return replace(first, title=title, blocks=blocks)
