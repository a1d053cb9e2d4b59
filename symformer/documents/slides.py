"""A derivation as the slides of a lecture: one step per slide, next to a figure that grows with the derivation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from sympy import Symbol

from ..formulas.structured_form import structured
from ..language.errors import DocumentError, joined
from ..language.notation.display_tree import Label, sizes_of
from ..language.symbols import print_order
from ..models.model import Model
from ..models.provenance import size_meaning
from ..output.blocks import (
    Block,
    Code,
    Equation,
    FigureBlock,
    Line,
    Math,
    Paragraph,
    Piece,
    References,
    Strong,
    Table,
    capital,
    computations_of,
    formulas_in,
    listed,
    maybe,
    numbered,
)
from ..output.chain import Chain
from ..papers import paper
from ..views.derivation_facts import DerivationFacts, QuantityFacts, derivation_facts
from .condition_text import conditions
from .derivation_document import attached_files, check_subtitle
from .formats.slide_layout import FULL
from .key_result import message
from .legend import entries
from .legend_entries import LegendEntry
from .notation import symbols_of
from .part_computations import split_sentences
from .part_sections import PARTS
from .sentences import sentence
from .slide_deck import Slide, SlideDeck
from .slide_steps import GrowingFigure, QuantitySteps, Step, is_explanation, shares
from .subject import in_subtitle, in_title, is_changed, subject_line
from .verification import short_check

NOTES = 0.75  # height of a line of notes, relative to a line of the text above
MOST_NOTES = 9.0  # lines of notes below the blocks of a slide; longer ones have their own slide


def lecture(model: Model, quantities: Sequence[str], version: str, **conventions: str) -> SlideDeck:
    """Return the slides of a lecture that derives quantities of a model, one after the other.

    Parameters
    ----------
    model
        The model to derive formulas for. Its sizes, if any, supply the numbers.
    quantities
        Names of the quantities, in order. Each must be a sum over the parts of the model.
    version
        The version of symformer, for the subtitle.
    conventions
        Values of conventions; each quantity uses those it has.

    Raises
    ------
    DocumentError
        If a quantity is a ratio or a bound on a time, which is not a sum over parts.
    SymformerError
        If the model does not support a quantity, or if a quantity or a convention is unknown or invalid.

    """
    return slides(derivation_facts(model, quantities, conventions), version)


def slides(found: DerivationFacts, version: str) -> SlideDeck:
    """Return the slides that state the facts of a derivation. Raises DocumentError for a quantity that is not a sum."""
    for each in found.quantities:
        if each.parts is None:
            measure = each.formula.measure
            raise DocumentError(
                f"slides derive sums over the parts of a model, but {measure.name} is a {each.formula.form}; choose "
                "other quantities, such as params or flops, or remove --form slides"
            )
    steps: list[Slide] = []
    figure = _figure(found)
    title = in_title(found.subject, joined([each.formula.measure.title for each in found.quantities]))
    several = len(found.quantities) > 1
    if several:
        steps.append(Slide([title], [], kind="title"))
    for place, each in enumerate(found.quantities):
        steps += _quantity_slides(
            each, found, figure if place == 0 else figure.unlabelled(), place == 0, several, title
        )
    shown = [*_noted(steps, found)]
    flat = [block for slide in shown for block in slide.every_block()]
    whole = [block for slide in shown for block in slide.every_undivided_block()]
    symbols_of([block for block in whole if not isinstance(block, FigureBlock)])  # figures on slides have no captions
    ready, keys = numbered(flat)
    rest = iter(ready)
    made = [
        replace(slide, blocks=[next(rest) for _ in slide.blocks], notes=[next(rest) for _ in slide.notes])
        for slide in shown
    ]
    if keys:
        entries = [(key, paper(key).byline, paper(key).title, paper(key).place) for key in keys]
        made += [Slide(["References"], blocks) for blocks in FULL.divided([References(entries)])]
    titles = [each.formula.measure.title for each in found.quantities]
    return SlideDeck(
        title,
        in_subtitle(found.conventions) + check_subtitle([each.check for each in found.quantities], version),
        made,
        ["transformer", found.subject.title, *titles],
        attached_files(found.json, keys),
    )


def _figure(found: DerivationFacts) -> GrowingFigure:
    """Return the figure of the model; without one if the amounts of its kinds of layers are not known."""
    if found.figure is None:
        return GrowingFigure(None, (), found.quantities[0].formula)
    from .figures.figure_builder import FigureBuilder

    builder = FigureBuilder(found.figure)
    return GrowingFigure(builder.architecture(), builder.main_parts(), found.figure.formula)


def _quantity_slides(
    found: QuantityFacts, facts: DerivationFacts, figure: GrowingFigure, first: bool, several: bool, title: str
) -> Iterator[Slide]:
    """Yield the slides of one quantity."""
    formula, subject = found.formula, facts.subject
    form = structured(formula.display_expr)
    label = Label(formula.measure.letter, "", formula.display_expr)
    whole_result = Equation(Chain((label,), form.steps), key=True, id=formula.id)
    shortened = replace(whole_result, chain=Chain((label,), form.steps[:1]))
    result: list[Block] = [whole_result if FULL.has_room(whole_result) else shortened]
    if form.parts:
        said: list[Line] = [
            [Math(part.label), " = ", Math.of(part.definition), f" is {part.meaning}"] for part in form.parts
        ]
        result.append(Paragraph(["Here ", *listed(*said), "."], defines=True))
    unit = "parameters" if formula.measure.unit == "elements" else formula.measure.unit
    value: list[Block] = []
    if found.value is not None:
        basis = f", {found.definition.basis}" if found.definition.basis else ""
        value.append(
            Paragraph(["For ", *subject_line(subject, formula), ": ", Strong(f"{found.value:,}"), f" {unit}{basis}."])
        )
    summary = message(formula, form, found.value, found.purposes, found.params, subject)
    if not any(isinstance(block, Table) for block in summary):
        value += summary
    if several:
        yield Slide([capital(formula.measure.title)], [*result, *value], kind="section")
    else:
        yield Slide([title], [*result, *value], kind="title")
    if first and (whole := figure.whole()) is not None:
        yield Slide([f"The architecture of {subject.title}"], [whole], paths=[figure.reading])
    if first and (order := figure.order()) is not None:
        yield Slide(["The order of the layers"], [order])
    steps = QuantitySteps(found, figure, first)
    intro = [*_paragraphs_of_parts(steps.chunks.get("", []))]
    yield from _defined(found, intro)
    reading = _reading([block for blocks in steps.chunks.values() for block in blocks])
    if reading:
        yield from _divided(Step(["How to read the computations"], reading), figure)
    for step in steps.steps():
        yield from _divided(step, figure)
    yield from _conclusions(found, facts, figure, unit)


def _defined(found: QuantityFacts, further: Sequence[Block]) -> Iterator[Slide]:
    """Yield the slides with the definition of a quantity, its conventions and further notes."""
    formula, definition = found.formula, found.definition
    blocks: list[Block] = []
    blocks.append(Paragraph(sentence(definition.statement)))
    blocks += map(Paragraph, definition.ranks)
    blocks += [Paragraph(sentence(each)) for each in definition.without_effect]
    for each in definition.conventions:
        blocks.append(Paragraph([Code(f"{each.name}={each.value}"), ": ", *sentence(each.meaning), "."]))
    blocks += further
    notes = conditions(found.conditions)
    if notes:
        blocks.append(Paragraph(["The formula holds if ", *listed(*notes), "."]))
    if definition.elementwise:
        head: list[Line] = [["Operation"], ["FLOPs per element"], ["Steps"]]
        counts: list[Sequence[Line]] = [
            [[name], [str(count.flops)], sentence(count.steps)] for name, count in definition.elementwise
        ]
        blocks.append(Table(head, counts, "lrw"))
    for part in FULL.divided(blocks):
        yield Slide([f"Definition: {formula.measure.title}"], part)


def _conclusions(found: QuantityFacts, facts: DerivationFacts, figure: GrowingFigure, unit: str) -> Iterator[Slide]:
    """Yield the number, the shares of the parts, the purposes, and the check."""
    formula, subject = found.formula, facts.subject
    form = structured(formula.display_expr)
    label = Label(formula.measure.letter, "", formula.display_expr)
    checked: list[Block] = [Paragraph(short_check(found.check))]
    if found.examples and (numbers := found.examples.substitution) is not None:
        whose = maybe(not is_changed(subject, formula), " for ", Code(subject.name))
        checked = [Equation(Chain((label,), numbers.steps)), *checked]
        yield from _divided(Step(["The number", *whose], checked), figure)
    if (chart := shares(found.totals, formula)) is not None:
        yield Slide([f"Where the {formula.measure.title} are"], [chart])
    purposes = message(formula, form, found.value, found.purposes, found.params, subject)
    if any(isinstance(block, Table) for block in purposes):
        blocks = [replace(block, caption=()) if isinstance(block, Table) else block for block in purposes]
        yield from _divided(Step([f"The {formula.measure.title} by purpose"], blocks), figure)
    if len(checked) == 1:
        yield Slide(["The check against torch"], checked)


def _paragraphs_of_parts(blocks: Sequence[Block]) -> Iterator[Paragraph]:
    """Yield the paragraphs after the heading of the parts, which are about all tables of parts."""
    after = (place for place, block in enumerate(blocks) if block == PARTS)
    start = next(after, len(blocks))
    yield from takewhile(lambda block: isinstance(block, Paragraph), blocks[start + 1 :])


def _reading(blocks: Sequence[Block]) -> list[Block]:
    """Return how to read the computations among these blocks; empty if there are none."""
    lines = [block.line for block in blocks if isinstance(block, Paragraph) and is_explanation(block, words=False)]
    return [Paragraph(each) for line in lines for each in split_sentences(line)]


def _divided(step: Step, figure: GrowingFigure) -> Iterator[Slide]:
    """Yield the slides of a step: next to the figure if its blocks are narrow enough."""
    beside = figure.at(step.parts) if step.parts is not None else None
    layout = Slide([], [], figure=beside).layout
    if not layout.fits(step.blocks):
        beside, layout = None, FULL
    pieces = layout.divided(step.blocks)
    if len(pieces) > 1 and len(wide := FULL.divided(step.blocks)) <= len(pieces):
        beside, pieces = None, wide
    for place, blocks in enumerate(pieces, 1):
        count = f"{place} of {len(pieces)}" if len(pieces) > 1 else ""
        notes = step.notes if place == len(pieces) else ()
        whole = None if len(pieces) == 1 else step.blocks if place == 1 else ()
        yield Slide(step.title, blocks, notes, beside, step.paths, count, step=whole)


def _noted(steps: Sequence[Slide], facts: DerivationFacts) -> Iterator[Slide]:
    """Yield the slides with the meaning of each size and each word of the computations where it occurs first.

    If these are too long for the slide, they are on a slide after the last slide of its step.
    """
    long: list[Slide] = []
    known: set[Symbol] = set()
    words: set[str] = set()
    values = facts.quantities[0].formula.with_totals(facts.subject.known)
    for slide in steps:
        if slide.step != ():  # the first slide of a step
            yield from long
            long = []
        stated = [*slide.every_undivided_block()]
        sizes = {size for shown in formulas_in(stated) for size in sizes_of(shown)} - known
        notes: list[Block] = [*slide.notes]
        new = [row for row in _entries(stated) if row.local or row.word not in words]
        rows: list[Sequence[Line]] = [[[Math(row.shown), *maybe(row.where, row.where)], row.means] for row in new]
        if new:
            words |= {row.word for row in new}
            sizes |= {
                size
                for row in rows
                for cell in row
                for piece in cell
                if isinstance(piece, Math)
                for size in sizes_of(piece.shown)
            } - known
        known |= sizes
        if sizes:
            notes.append(Paragraph(_sizes(sizes, facts, values), defines=True))
        if rows:
            notes.append(Table([["Notation"], ["Meaning"]], rows, "lw"))
        layout = slide.layout
        high = NOTES * layout.total(notes)
        if notes and (high > MOST_NOTES or layout.total(slide.blocks) + high > layout.lines + 3):
            title: Line = [*slide.title, f": {'notation' if rows else 'symbols'}"]
            long += [Slide(title, blocks) for blocks in FULL.divided(notes)]
            yield replace(slide, notes=())
        else:
            yield replace(slide, notes=notes)
    yield from long


def _entries(blocks: Sequence[Block]) -> list[LegendEntry]:
    """Return the meanings of the words of some blocks, each once; a table prints no shapes."""
    found: dict[str, LegendEntry] = {}
    for block in blocks:
        for row in entries(computations_of(block)):
            if row.word != "…" or not isinstance(block, Table):
                found.setdefault(row.word, row)
    return [*found.values()]


def _sizes(sizes: set[Symbol], facts: DerivationFacts, values: Mapping[Symbol, int]) -> list[Piece]:
    """Return the meaning of sizes, with their values."""
    said: list[Piece] = []
    for place, size in enumerate(sorted(sizes, key=print_order)):
        meaning = size_meaning(size, facts.places.get(size.name))
        number = f" ({values[size]:,})" if size in values else ""
        said += [*maybe(place, "; "), Math.of(size), f" {meaning}{number}"]
    return said
