"""The live page of one model, or of two: a tab for each quantity, a document, and the data of its script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..language.errors import DocumentError, SymformerError, listed
from ..models.model import Model
from ..output.blocks import Block, Document, Heading, References
from ..quantities import quantity as find_quantity
from ..quantities.time_quantity import TimeQuantity
from ..views.derivation_facts import DerivationFacts, derivation_facts
from ..views.model_variants import FORMS, Toggle, Variants, VariantsFacts
from .derivation_document import laid_out
from .formats.live_html import Live
from .live_data import Sheet, sheet
from .references import with_references

MOST = 200_000  # bytes of a page
TABS = ("params", "flops", "train-memory", "kv-cache", "inference-memory")
ROOM = (FORMS, 24, 20, 16, 12, 10, 8, 6, 5, 4, 3, 2, 1)  # formulas of one model and quantity, from many to one
ENOUGH = tuple(most for most in ROOM if most >= 4)  # for a page with the full derivation


def page(
    models: Sequence[Model], quantities: Sequence[str], version: str, form: str = "full", **conventions: str
) -> bytes:
    """Return a live page of some quantities, each in a tab, as HTML.

    The derivation on the page belongs to the first quantity; the page computes its numbers, rows and variants. If the
    page is too long, it has fewer switches, down to those with ``ENOUGH`` formulas, then the short form of the
    derivation, and then still fewer switches.

    Parameters
    ----------
    models
        One model, or two to compare.
    quantities
        The names of the quantities.
    version
        The version of symformer, for the subtitle.
    form
        "full" or "short".
    conventions
        Values of conventions; each quantity uses those it has.

    Raises
    ------
    RuleError
        If a model does not support a quantity.
    DocumentError
        For more than two models, for a lower bound, or if no form is short enough.

    """
    if len(models) > 2:
        raise DocumentError(f"a live page shows at most two models, but {len(models)} are given; keep two")
    if len({model.target for model in models}) < len(models):
        raise DocumentError(
            f"{models[0].target} is given twice; a live page of one model can also compare it with itself"
        )
    for quantity in quantities:
        if isinstance(find_quantity(quantity), TimeQuantity):
            raise DocumentError(f"a live page shows counts and ratios, and {quantity} is a lower bound; omit --live")
    given = [_choices(quantity, conventions) for quantity in quantities]
    forms = ("full", "short") if form == "full" and len(models) == 1 else ("short",)
    tabs = [[Variants(model, *each) for model in models] for each in zip(quantities, given, strict=True)]
    for variants in (each for tab in tabs for each in tab):
        _ = variants.base  # raises for a quantity that the model does not support
    derivations = [derivation_facts(model, quantities[:1], given[0], full="full" in forms) for model in models]
    shares = Sheet().shares
    figure = derivations[0].figure if len(models) == 1 else None
    told: dict[int, Mapping[str, object]] = {}
    for length in forms:
        document = _document(derivations, version, "interactive" if length == "full" else length)
        rest = len(Live({}).render(document, ""))  # all but the data
        for most in ROOM if length == "short" else ENOUGH:
            if most not in told:
                told[most] = sheet(_facts(tabs, most), Sheet(shares=shares), figure)
            live = Live(told[most])
            if rest + len(live.sheet.encode()) < MOST and len(made := live.render(document, "")) < MOST:
                return made
    raise DocumentError(
        f"the live page of {listed(quantities)} for {' and '.join(model.name for model in models)} has "
        f"{rest + len(live.sheet.encode()):,} bytes, which exceeds the limit of {MOST:,}; "
        + ("choose fewer quantities" if len(quantities) > 1 else "omit --live")
    )


def _facts(tabs: Sequence[Sequence[Variants]], most: int) -> list[list[VariantsFacts]]:
    """Return the facts of every tab, with at most so many formulas of a model; tabs carry each other's options."""
    limited = [[replace(variants, most=most) for variants in tab] for tab in tabs]
    found: list[list[VariantsFacts]] = []
    for tab in limited:
        found.append([])
        for number, variants in enumerate(tab):
            values: dict[str, dict[str, None]] = {}
            for switch in (each for other in limited if other is not tab for each in other[number].switches):
                if switch.option:
                    values.setdefault(switch.name, {}).update(dict.fromkeys(switch.values))
            elsewhere = tuple(Toggle(name, tuple(each), option=True) for name, each in values.items())
            found[-1].append(replace(variants, elsewhere=elsewhere).facts())
    return found


def usual_quantities(models: Sequence[Model], conventions: Mapping[str, str]) -> list[str]:
    """Return the default quantities of a page: all of ``TABS`` that every model supports."""
    return [name for name in TABS if all(_has(model, name, conventions) for model in models)]


def _has(model: Model, quantity: str, conventions: Mapping[str, str]) -> bool:
    try:
        model.formula(quantity, **_choices(quantity, conventions))
    except SymformerError:
        return False
    return True


def _choices(quantity: str, conventions: Mapping[str, str]) -> dict[str, str]:
    choices = find_quantity(quantity).choices
    return {name: value for name, value in conventions.items() if name in choices}


def _document(models: Sequence[DerivationFacts], version: str, form: str) -> Document:
    """Return the document shown without scripts: one derivation, or a short one per model."""
    # The short form has no figure on this page.
    shown = [replace(model, figure=None) if form == "short" else model for model in models]
    each = [laid_out(model, version, form=form) for model in shown]
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
