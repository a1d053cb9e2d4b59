"""The derivation as a document: definition, parts, model, numbers, check against torch, references."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeGuard

from sympy import Add, Symbol, expand

from ..formulas.account import Line as AccountLine
from ..formulas.factorization import factored
from ..formulas.formula import Formula
from ..formulas.operation_names import row_names
from ..formulas.part_labels import REST, modules_apart
from ..formulas.ratio import Ratio
from ..formulas.structured_form import StructuredForm, structured
from ..formulas.time_bound import TimeBound
from ..language.errors import joined
from ..language.notation.display_tree import Call, Label, Sum, nodes, ordered_terms, sizes_of, tree
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.notation.text import amount, number, percent, rounded, seconds
from ..language.symbols import N_bw, N_peak, letter, print_order
from ..models.model import Model
from ..models.provenance import ConfigLocation, size_meaning
from ..output.blocks import (
    Block,
    Code,
    Contents,
    Document,
    Equation,
    FigureBlock,
    FloatSentence,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    Strong,
    Table,
    capital,
    formulas_in,
    listed,
    maybe,
    with_sentence,
)
from ..output.chain import Chain
from ..papers import paper
from ..views.derivation_facts import AmountFacts, DefinitionFacts, DerivationFacts, QuantityFacts, derivation_facts
from ..views.example_facts import LeadingFacts, PresetFacts, VariantFacts
from ..views.figure_facts import FigureFacts
from ..views.formula_facts import CheckFacts, ConditionFacts, SubjectFacts, is_per_rank
from .amount_table import Rows, amount_table
from .condition_text import conditions
from .figures.inset import compact_illustration, illustration
from .formats.page_layout import FEW
from .key_result import message
from .layer_lists import class_path
from .named_parts import definitions, with_named_parts
from .nearest_relative import nearest
from .notation import symbols_of
from .part_computations import about_part
from .part_places import named
from .part_sections import ChapterParts, parts
from .part_tables import unit_of
from .references import with_references
from .sentences import sentence
from .short_form import short_form
from .subject import column, config_lines, in_subtitle, in_title, is_changed, subject_line
from .total_sentence import with_named_sizes
from .verification import UNCERTIFIED, WHOLE_ONLY, check, short_check


def document(
    model: Model,
    quantities: Sequence[str],
    version: str,
    together: str = "",
    form: str = "full",
    **conventions: str,
) -> Document:
    """Return the derivation of a model, with one chapter per quantity.

    Parameters
    ----------
    model
        The model to derive formulas for. Its sizes, if any, supply the numbers.
    quantities
        Names of the quantities, in the order of the chapters.
    version
        The version of symformer, for the subtitle.
    together
        A name for the quantities, such as "costs". If given, a quantity that the model does not support is listed with
        the reason instead of raising RuleError.
    form
        "full", or "short" for one page: the result, the conventions by name, the sizes, the total of each part and the
        check against torch. "interactive" is the full derivation without the sections that a live page computes itself:
        the numbers, the rows and the variants.
    conventions
        Values of conventions; each quantity uses those it has.

    Raises
    ------
    UnknownNameError
        If a quantity or a convention is unknown.
    OptionError
        If a convention has an invalid value.
    RuleError
        If the model does not support a quantity and ``together`` is empty.

    """
    found = derivation_facts(model, quantities, conventions, full=form != "short", skip_refused=bool(together))
    return laid_out(found, version, together, form)


def laid_out(found: DerivationFacts, version: str, together: str = "", form: str = "full") -> Document:
    """Return the document that states the facts of a derivation; its arguments are described at ``document``."""
    figures = [found.figure if form == "full" else None, *[None] * len(found.quantities)]
    chapters = [
        _chapter(each, found.subject, form, first=place == 0, figure=figures[place])
        for place, each in enumerate(found.quantities)
    ]
    drawn = illustration(found.figure) if form != "short" and found.figure else []
    if drawn:
        what = "architecture" if found.figure is None or found.figure.is_model else "computation"
        chapters[0] = chapters[0].mentioning(drawn[0], what)
    blocks: list[Block] = []
    related = nearest(found.relative, _labels(found)) if found.relative else []
    shown = [block for each in chapters for block in each.blocks]
    if found.relative:
        related[-1:-1] = _further_symbols(related, shown, found.relative.structure.names[1])
    component = form == "short" and found.figure is not None and not found.figure.is_model
    if component and found.figure is not None:
        shown += [*_shapes_in(found.figure), *_described(found.quantities[0])]
    letters = _alphabet(found.subject, found.places, found.quantities[0].formula, shown) if shown else []
    if len(chapters) == 1:
        (one,) = chapters
        result = [*one.result]
        if form != "short":
            listed_in = FloatSentence(_symbols_id(found.quantities[0].formula), "lists the symbols.", what="Table")
            opening = next((place for place, block in enumerate(result) if isinstance(block, Heading)), len(result))
            result = [*with_sentence(result[:opening], listed_in), *result[opening:]]
        elif component:  # a page has room for its kind
            result += _described(found.quantities[0])
        symbols = [*one.parts.model, *letters, *one.holds]
        if any(isinstance(block, Table) and len(block.rows) > FEW for block in letters):
            symbols += drawn  # not between the pieces of a table over two pages
        else:
            symbols = [*drawn, *symbols]
        said = [Paragraph([UNCERTIFIED])] if form == "short" else []  # the subtitle of a page says so, too
        checked = [each for each in one.checked if each not in said]
        blocks += [*result, *one.parts.opening, *symbols, *one.parts.rest, *checked]
    else:
        blocks += [Contents(), *([Heading(1, ["Symbols"], SYMBOLS), *letters] if letters else []), *drawn]
        for each, chapter in zip(found.quantities, chapters, strict=True):
            blocks.append(Heading(1, [capital(each.formula.measure.title)], each.formula.measure.name))
            blocks += map(_lowered, chapter.blocks)
    blocks += related
    if found.refused:
        blocks.append(Heading(1, ["Quantities without a formula"]))
        blocks += [Paragraph([Code(name), f": {reason}."]) for name, reason in found.refused]
    if form == "short":
        blocks = short_form(blocks, found.figure if len(chapters) == 1 else None)
    blocks = _with_rests(blocks, found.quantities)
    blocks = _joined_meanings(_with_parts_of_layers(blocks, found.quantities))
    named_parts = [
        part for each in found.quantities if each.parts for part in structured(each.formula.display_expr).parts
    ]
    blocks = with_named_sizes(blocks, named_parts)
    symbols_of(blocks)
    blocks, keys = with_references(blocks)
    titles = [each.formula.measure.title for each in found.quantities]
    per_rank = any(is_per_rank(each.formula) for each in found.quantities)
    return Document(
        in_title(found.subject, together or joined(titles), rank=per_rank),
        in_subtitle(found.conventions) + check_subtitle([each.check for each in found.quantities], version),
        blocks,
        ["transformer", found.subject.title, *titles],
        attached_files(found.json, keys),
        one_page=form == "short" and len(chapters) == 1,
    )


def _shapes_in(figure: FigureFacts) -> list[Block]:
    """Return the sizes in the shapes of tensors of a figure, which its page explains."""
    from .figures.figure_builder import FigureBuilder  # most documents never need it

    graph = FigureBuilder(figure).architecture().graph
    labels = (arrow.label for each in graph.graphs() for arrow in each.arrows)
    shapes = [piece for line in (*graph.ports, *graph.results, *labels) for piece in line if isinstance(piece, Math)]
    return [Paragraph(shapes)]


def _described(found: QuantityFacts) -> list[Block]:
    """Return the definition of a quantity, and a description of the component that it is of."""
    about = about_part(found.formula.root, found.formula)
    return [Paragraph(line) for line in (sentence(found.definition.statement), about) if line]


def _with_rests(blocks: Sequence[Block], quantities: Sequence[QuantityFacts]) -> list[Block]:
    """Return blocks in which the first total of a module without some of its parts is followed by its meaning."""
    roots = [each.formula.root for each in quantities]
    apart = {line.key: found for root in roots for line in root.parts() if (found := modules_apart(line, root))}
    made: list[Block] = []
    known: set[Label] = set()
    for block in blocks:
        made.append(block)
        shown = (block.chain.labels, block.chain.steps) if isinstance(block, Equation) and not block.key else ()
        labels = [each for some in shown for one in some for each in nodes(one) if isinstance(each, Label)]
        for label in dict.fromkeys(each for each in labels if each.name.endswith(f".{REST}")):
            if label not in known:
                name = label.name.removesuffix(f".{REST}")
                found = next((found for key, found in apart.items() if f".{key}".endswith(f".{name}")), ())
                others = listed(*([Code(each.removesuffix(".*"))] for each in found))
                without = others or ["its parts that have totals of their own"]
                made.append(
                    Paragraph(["Here, ", Math(label), " is the total of ", Code(name), " without ", *without, "."])
                )
            known.add(label)
    return made


def _with_parts_of_layers(blocks: Sequence[Block], quantities: Sequence[QuantityFacts]) -> list[Block]:
    """Return blocks in which the first total of modules that the class keeps in the layer itself is explained.

    The two matrices of BART's feed-forward network are modules of the layer, so no module has the name of that network.
    """
    meanings: dict[Label, tuple[str, ...]] = {}
    layers: dict[Label, str] = {}
    for each in quantities:
        for section in each.parts.steps.sections if each.parts else ():
            for label, line in zip(section.chain.labels if section.chain else (), section.lines, strict=False):
                if isinstance(label, Label) and (modules := _modules_of_layer(line, each.formula)):
                    meanings[label] = modules
                    layers[label] = class_path(line.path, each.formula).removesuffix(".*")
    made: list[Block] = []
    for block in blocks:
        made.append(block)
        steps = (block.chain.labels, block.chain.steps) if isinstance(block, Equation) else ()
        used = dict.fromkeys(each for some in steps for one in some for each in nodes(one) if isinstance(each, Label))
        for label in used:
            if label not in meanings:
                continue
            modules = meanings[label]
            labels = [each for each, some in meanings.items() if some == modules and each.letter == label.letter]
            meanings = {each: some for each, some in meanings.items() if each not in labels}
            made.append(Paragraph(_about_modules(labels, modules, layers)))
    return made


def _joined_meanings(blocks: Sequence[Block]) -> list[Block]:
    """Return blocks in which adjacent paragraphs on the meanings of totals are one sentence."""
    made: list[Block] = []
    for block in blocks:
        before = made[-1] if made else None
        if _is_on_totals(block) and _is_on_totals(before):
            made[-1] = Paragraph([*before.line[:-1], "; ", *block.line[1:]])
        else:
            made.append(block)
    return made


def _is_on_totals(block: Block | None) -> TypeGuard[Paragraph]:
    match block:
        case Paragraph(line=["Here, ", Math(shown=Label()), *_, "."], defines=False):
            return True
        case _:
            return False


def _about_modules(labels: Sequence[Label], modules: Sequence[str], layers: Mapping[Label, str]) -> Line:
    """Return a sentence on totals of modules with the same names, in layers of one list or of several."""
    names = listed(*([Code(each)] for each in modules))
    if len({layers[each] for each in labels}) == 1:
        verb = " is the total of " if len(labels) == 1 else " are the totals of "
        return ["Here, ", *listed(*([Math(each)] for each in labels)), verb, *names, "."]
    line: list[Piece] = ["Here, "]
    for place, each in enumerate(labels):  # such as one in an encoder and one in a decoder
        named: Line = ["their total"] if place else ["the total of ", *names]
        line += [*maybe(place, "; "), Math(each), " is ", *named, " in a layer of ", Code(layers[each])]
    return [*line, "."]


def _modules_of_layer(line: AccountLine, formula: Formula) -> tuple[str, ...]:
    """Return the modules that a part consists of if they are modules of the layer around it, else nothing."""
    path = ".".join(word for word in line.path.split(".") if word != "*")
    if not line.name or line.entry is not None or line.part is None or line.key != f"{path}.{line.name}".lstrip("."):
        return ()
    entries = [below.entry for below in formula.root.walk() if below.entry is not None and below.each != 0]
    own = {id(below.entry) for below in line.walk()}
    apart = {class_path(each.path, formula) for each in entries if id(each) not in own}
    named = _outermost_modules(line, formula, apart)
    return tuple(dict.fromkeys(each.removeprefix(line.path).strip(".") for each in named))


def _outermost_modules(line: AccountLine, formula: Formula, apart: Collection[str]) -> Iterator[str]:
    """Yield the paths of the modules of a part, but not the modules inside these unless some of them are apart."""
    for below in line.lines:
        inside = f"{class_path(below.path, formula)}."
        if below.each == 0:
            continue
        if below.entry is not None:
            yield from [below.entry.path] * bool(below.entry.module)
        elif below.path in ("", line.path) or any(each.startswith(inside) for each in apart):
            yield from _outermost_modules(below, formula, apart)
        else:
            yield below.path


@dataclass(frozen=True)
class DerivationSections:
    """The blocks of the short form of one quantity, for a page that orders them itself."""

    result: Sequence[Block]  # the formula, its value and its conditions
    totals: Table  # of each part
    letters: Sequence[Block]
    checked: Line
    figure: Sequence[FigureBlock]
    relative: Sequence[Block]  # without a heading


def sections(found: DerivationFacts, more: Sequence[Block] = ()) -> DerivationSections:
    """Return the sections of the first quantity of a derivation.

    Parameters
    ----------
    found
        The facts, possibly of the short form.
    more
        Further blocks of the page; the table of letters also explains their symbols.

    """
    one = found.quantities[0]
    chapter = _chapter(one, found.subject, "short", first=True)
    totals, about = chapter.checked
    if not isinstance(totals, Table) or not isinstance(about, Paragraph):
        raise TypeError(f"{one.formula.id} has no table of its parts")
    shown = [*chapter.result, *chapter.holds, totals, *more]
    related = nearest(found.relative)[1:] if found.relative else []
    if found.relative:
        related[-1:-1] = _further_symbols(related, shown, found.relative.structure.names[1])
    return DerivationSections(
        result=[*chapter.result, *chapter.holds],
        totals=totals,
        letters=_alphabet(found.subject, found.places, one.formula, shown),
        checked=about.line,
        figure=_figure(found.figure) if found.figure else [],
        relative=related,
    )


def _figure(found: FigureFacts) -> list[FigureBlock]:
    """Return the figure of a model, with drawings in less detail for a page on which it is too large."""
    (whole,), (compact,) = illustration(found), compact_illustration(found)
    return [replace(whole, overviews=compact.overviews)]


def _labels(found: DerivationFacts) -> Iterator[Label]:
    """Yield the labels of the totals of parts in the quantity whose difference from the nearest relative is shown."""
    for each in found.quantities:
        if found.relative and each.formula.measure.name == found.relative.quantity and each.parts:
            chains = [section.chain for section in each.parts.steps.sections if section.chain]
            yield from (label for chain in chains for label in chain.labels if isinstance(label, Label))


def attached_files(told: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[tuple[str, str]]:
    """Return the attached files: the formulas as JSON, as ``show --json`` prints them, and the papers as BibTeX."""
    files = [("formulas.json", json.dumps([*map(dict, told)], indent=1, ensure_ascii=False) + "\n")]
    if keys:
        files.append(("references.bib", "\n\n".join(paper(key).bibtex() for key in keys) + "\n"))
    return files


def check_subtitle(checks: Sequence[CheckFacts], version: str) -> str:
    """Return the subtitle: how the steps are checked, and whether the results are checked against torch."""
    held = [each.is_exact for each in checks]
    if all(each.per_rank and each.certificate for each in checks):
        compared = f"{WHOLE_ONLY[0].lower()}{WHOLE_ONLY[1:-1]}"
    elif all(held):
        compared = "the result is checked against torch" if len(held) == 1 else "every result is checked against torch"
    elif any(held):
        compared = "each chapter ends with its check against torch"
    else:
        compared = "no certificate checks the result against torch"
    return f"Derived by symformer {version}. Every step is verified symbolically; {compared}."


def _lowered(block: Block) -> Block:
    return replace(block, level=block.level + 1) if isinstance(block, Heading) else block


@dataclass(frozen=True)
class _Chapter:
    """The blocks of one quantity: its result and definition, the model and its parts, and what follows."""

    result: Sequence[Block]
    holds: Sequence[Block]  # when the formula holds
    checked: Sequence[Block]
    parts: ChapterParts = field(default_factory=ChapterParts)

    @property
    def blocks(self) -> list[Block]:
        """All blocks in order."""
        own = self.parts
        return [*self.result, *own.opening, *own.model, *self.holds, *own.rest, *self.checked]

    def mentioning(self, figure: FigureBlock, what: str) -> _Chapter:
        """Return the chapter with a sentence about the figure of the model."""
        opening = with_sentence(self.parts.opening, figure.mention(f"shows the {what}."))
        return replace(self, parts=replace(self.parts, opening=opening))


def _chapter(
    found: QuantityFacts, subject: SubjectFacts, form: str, first: bool, figure: FigureFacts | None = None
) -> _Chapter:
    """Return the blocks of one quantity; with the facts of a ``figure``, its main parts have figures."""
    formula, value = found.formula, found.value
    counted = _chosen(found.definition) if form == "short" else _counted(found, subject, first)
    holds = _conditions(found.conditions, reasons=form != "short")
    if isinstance(formula, Ratio):
        checked: list[Block] = [Paragraph([found.checked or RATIO])]
        if form != "short":
            sides = [*_side(formula.numerator, formula), *_side(formula.denominator, formula)]
            quotients = _quotients(formula, value, found.rows)
            others = _forms(found)
            checked = [*sides, *quotients, *others, Heading(1, ["The check against torch"]), *checked]
        return _Chapter([*_ratio(formula, value, subject), *counted], holds, checked)
    if isinstance(formula, TimeBound):
        checked = [Paragraph([found.checked])]
        if form != "short":
            sides = [*_side(formula.moved, formula, "bytes"), *_side(formula.work, formula, "flops")]
            checked = [*sides, *_forms(found), Heading(1, ["The check against torch"]), *checked]
        return _Chapter([*_bound(formula, value, subject), *counted], holds, checked)
    structure = structured(formula.display_expr)
    result = [
        *_result(formula, structure, value, subject, found.definition.basis),
        *message(formula, structure, value, found.purposes, found.params, subject),
        *([] if value is not None else _known_purposes(found, subject)),
        *counted,
    ]
    if form == "short":
        totals = with_named_parts([part_totals(formula, value, found.totals)], structure)
        return _Chapter(result, holds, [*totals, Paragraph(short_check(found.check))])
    rest: list[Block] = []
    if examples := found.examples:
        rest += _leading(examples.leading, formula, subject)
        rest += _forms(found)
        rest += _numbers(examples.substitution, formula, subject) if form == "full" else []
    rest += _breakdown(formula, value, found.rows) if form == "full" else []
    if examples:
        rest += _presets(examples.presets, examples.more_presets, formula)
        rest += _variants(examples.variants, formula, subject) if form == "full" else []
    own = parts(found.parts, formula, first, figure) if found.parts else ChapterParts()
    opening, model, others = (with_named_parts(each, structure) for each in (own.opening, own.model, own.rest))
    own = ChapterParts(opening, model, others)
    checked = check(found.check, examples.sharing if examples else ())
    return _Chapter(result, holds, [*with_named_parts(rest, structure), *checked], own)


def _forms(found: QuantityFacts) -> list[Block]:
    """Return the section with other forms of the formula, its leading parts and its limits, if any are requested."""
    if not found.forms:
        return []
    return [Heading(1, ["Other forms and limits"]), *(block for form in found.forms for block in form.to_blocks())]


def _chosen(found: DefinitionFacts) -> list[Block]:
    """Return the conventions by name only, for the short form."""
    notes = [[Code(f"{each.name}={each.value}")] for each in found.conventions]
    blocks: list[Block] = [Paragraph(["Counted with ", *listed(*notes), "."])] if notes else []
    return [*blocks, *map(Paragraph, found.ranks)]


def part_totals(formula: Formula, value: int | Fraction | None, totals: Sequence[AmountFacts]) -> Table:
    """Return the table of the total of each part."""
    rows: Rows = [[[named(part.name, formula)], [Math.of(part.count)], [Math(factored(part.each))]] for part in totals]
    head: list[Line] = [["Part"], ["Copies"], ["Each"], ["Total"]]
    return amount_table(head, "lrl", rows, totals, value, [f"The {unit_of(formula)} by part."], total=False)


def _ratio(formula: Ratio, value: int | Fraction | None, subject: SubjectFacts) -> list[Block]:
    """Return the result of a ratio and both sides."""
    above, below = formula.numerator, formula.denominator
    quotient = Chain((_label(formula),), (Quotient(_label(above), _label(below)),))
    result: list[Block] = [Equation(quotient, key=True, id=formula.id)]
    result += [Equation(Chain((_label(side),), (tree(side.display_expr),))) for side in (above, below)]
    letters = Math(_label(above)), Math(_label(below))
    said_of = f" denotes the {above.measure.title} and ", f" the {below.measure.title}."
    result.append(Paragraph([letters[0], said_of[0], letters[1], said_of[1]]))
    if value is not None:
        unit = formula.measure.unit
        result.append(_stated(amount(value, unit), unit, formula, subject))
    return result


def _bound(formula: TimeBound, value: int | Fraction | None, subject: SubjectFacts) -> list[Block]:
    """Return a bound on a time and both of its sides."""
    moved, work = formula.moved, formula.work
    times = (Quotient(_label(moved), tree(N_bw)), Quotient(_label(work), tree(N_peak)))
    result: list[Block] = [Equation(Chain((_label(formula),), (Call("max", times),)), key=True, id=formula.id)]
    result += [Equation(Chain((_label(side),), (tree(side.display_expr),))) for side in (moved, work)]
    letters = Math(_label(moved)), Math(_label(work))
    said_of = f" denotes the {moved.measure.title} and ", f" the {work.measure.title}."
    result.append(Paragraph([letters[0], said_of[0], letters[1], said_of[1]]))
    if value is not None:
        line: Line = [
            "For ",
            *subject_line(subject, formula),
            ", the time is ",
            Strong(f"at least {seconds(Fraction(value))}"),
            ".",
        ]
        result.append(Paragraph(line))
    return result


def _side(side: Formula, formula: Formula, name: str = "") -> list[Block]:
    """Return the rows of one side of a ratio or of a bound."""
    if not side.root.lines:  # not a quantity of the model, such as a device's peak
        return []
    anchor = f"{formula.id}.{name or side.id.rpartition('.')[2]}"  # side.id is the anchor of its own chapter
    names = row_names(side.root)
    rows: list[Sequence[Line]] = [
        [[named(names.get(row.path, row.path), formula)], [Math.of(row.count)], [Math.of(row.each)]]
        for row in side.rows
        if row.each != 0
    ]
    caption: Line = [f"{capital(side.measure.title)} row by row."]
    table = Table([["Row"], ["Copies"], ["Each"]], rows, "lrl", caption=caption)
    return [Heading(1, [capital(side.measure.title)], anchor), table if rows else Paragraph(["Every row is 0."])]


def _quotients(formula: Ratio, value: int | Fraction | None, rows: Sequence[AmountFacts]) -> list[Block]:
    """Return the ratio of each row; nothing for a share, every row of which is 0 or 1."""
    if all(row.each == 1 for row in rows):
        return []
    head: list[Line] = [["Row"], ["Each"], *([[formula.measure.unit]] if value is not None else [])]
    cells: list[Sequence[Line]] = [
        [[named(row.name, formula)], [Math.of(row.each)], *([[number(row.value)]] if row.value is not None else [])]
        for row in rows
    ]
    table = Table(head, cells, "ll" if value is None else "llr", caption=_rows(formula))
    return [Heading(1, ["Row by row"]), table]


RATIO = (
    "A ratio has no certificate of its own. The numerator is counted as the run's FLOPs, the denominator as its "
    "memory traffic, and each of these has its own check."
)


def _label(formula: Formula) -> Label:
    return Label(formula.measure.letter, "", formula.display_expr)


def _stated(value: str, unit: str, formula: Formula, subject: SubjectFacts) -> Paragraph:
    """Return the value of a formula in a sentence."""
    return Paragraph(["For ", *subject_line(subject, formula), ", this is ", Strong(value), f" {unit}."])


def _result(
    formula: Formula, form: StructuredForm, value: int | Fraction | None, subject: SubjectFacts, basis: str
) -> list[Block]:
    blocks: list[Block] = [Equation(Chain((_label(formula),), form.steps), key=True, id=formula.id)]
    blocks += definitions(form.parts)
    if value is not None:
        unit = f"{unit_of(formula)}, {basis}" if basis else unit_of(formula)
        blocks.append(_stated(f"{value:,}", unit, formula, subject))
    return blocks


def _known_purposes(found: QuantityFacts, subject: SubjectFacts) -> list[Block]:
    """Return the total of the purposes whose sizes all have values, if not all purposes have such sizes."""
    known = [each for each in found.purposes if each.value is not None]
    if not known or len(known) == len(found.purposes):
        return []
    total = sum(each.value for each in known if each.value is not None)
    names = joined([f"the {each.name}" for each in known])
    unit = unit_of(found.formula)
    verb = "take" if len(known) > 1 or known[0].name.endswith("s") else "takes"
    said = [
        "For ",
        *subject_line(subject, found.formula),
        f", {names} {verb} ",
        Strong(f"{total:,}"),
        f" {unit}{_in_gigabytes(total, unit)}.",
    ]
    return [Paragraph(said)]


def _in_gigabytes(number: int | Fraction, unit: str) -> str:
    """Return a number of bytes in GB and GiB, in brackets; nothing for another unit."""
    return f" ({rounded(number, unit)})" if unit == "bytes" else ""


def _counted(quantity: QuantityFacts, subject: SubjectFacts, first: bool) -> list[Block]:
    formula, found = quantity.formula, quantity.definition
    about = [] if quantity.parts else about_part(formula.root, formula)  # else it follows with the model
    blocks: list[Block] = [
        Heading(1, ["Definition and conventions"]),
        Paragraph([*maybe(first and about, *about, " "), *sentence(found.statement)]),
    ]
    blocks += map(Paragraph, found.ranks)
    blocks += [Paragraph(sentence(each)) for each in found.without_effect]
    for each in found.conventions:
        blocks.append(Paragraph([Code(f"{each.name}={each.value}"), ": ", *sentence(each.meaning), "."]))
    if found.elementwise:
        head: list[Line] = [["Operation"], ["FLOPs per element"], ["Steps"]]
        counts: list[Sequence[Line]] = [
            [[name], [str(count.flops)], sentence(count.steps)] for name, count in found.elementwise
        ]
        caption: Line = ["FLOPs of the elementwise operations."]
        blocks.append(Table(head, counts, "lrw", caption=caption))
    if subject.options:
        options = ", ".join(f"{name}={value}" for name, value in subject.options.items())
        blocks.append(Paragraph(["Non-default model options: ", Code(options), "."]))
    return blocks


SYMBOLS = "symbols"  # the anchor of the section with the symbols


def _symbols_id(formula: Formula) -> str:
    """Return the id of the table of symbols."""
    return f"{formula.id}.{SYMBOLS}"


def _alphabet(
    subject: SubjectFacts, places: Mapping[str, ConfigLocation], formula: Formula, blocks: Sequence[Block]
) -> list[Block]:
    """Return the table of exactly those symbols that occur in these blocks."""
    used = {symbol for shown in formulas_in(blocks) for symbol in sizes_of(shown)}
    known = formula.with_totals(subject.known)
    rows: list[Sequence[Line]] = [
        [
            [Math.of(size)],
            [size_meaning(size, places.get(size.name))],
            _place(size, places.get(size.name), formula),
            _integer(known.get(size)),
        ]
        for size in sorted(used, key=print_order)
    ]
    if not rows:
        return []
    head: list[Line] = [["Symbol"], ["Meaning"], ["In the code"], [column(subject, formula)]]
    cols = [0, 1, *([2] if any(row[2] for row in rows) else []), *([3] if any(row[3] for row in rows) else [])]
    align, cells = "".join("cllr"[i] for i in cols), [[row[i] for i in cols] for row in rows]
    values: Line = [", with their values in ", *subject_line(subject, formula, rank=False)] if 3 in cols else []
    table = Table([head[i] for i in cols], cells, align, caption=["Symbols", *values, "."], id=_symbols_id(formula))
    return [table, *(Paragraph(line) for line in config_lines(subject) if 3 in cols)]


def _further_symbols(blocks: Sequence[Block], shown: Sequence[Block], owner: str) -> list[Block]:
    """Return a paragraph with the meaning of each symbol that occurs in some blocks and not in those shown before."""
    before = {symbol for each in formulas_in(shown) for symbol in sizes_of(each)}
    more = {symbol for each in formulas_in(blocks) for symbol in sizes_of(each)} - before
    said: list[Piece] = [f"Further symbols, of {owner}: "]
    for place, size in enumerate(sorted(more, key=print_order)):
        said += [*maybe(place, "; "), Math.of(size), ", ", size_meaning(size, None)]
    return [Paragraph([*said, "."], defines=True)] if more else []


def _place(size: Symbol, place: ConfigLocation | None, formula: Formula) -> Line:
    """Return the config field of a size; empty for a size of the run, which no config contains."""
    if place is None or (letter(size).run and place.field == size.name):
        return []
    if place.counted:
        return [Code(place.counted), " in ", Code(place.field)]
    if place.of:
        return [Code(place.field), " of ", Code(place.of)]
    if place.rule:
        return [Code(place.field), ": ", *sentence(place.rule)]
    if place.twins:
        return listed([Code(place.field)], *([Code(twin)] for twin in place.twins))
    computed = place.null is not None and formula.relations.get(size) == place.null
    null = maybe(computed, " (null means ", Math.of(place.null), ")") if place.null is not None else []
    return [Code(place.field), *maybe(place.less, " minus ", Code(place.less)), *null]


def _conditions(found: ConditionFacts, reasons: bool) -> list[Block]:
    notes = conditions(found, reasons)
    return [Paragraph([HOLDS, *listed(*notes), "."])] if notes else []


HOLDS = "The formula holds if "


def _leading(found: LeadingFacts | None, formula: Formula, subject: SubjectFacts) -> list[Block]:
    """Return the leading terms; nothing if they omit too much of the total at the numbers shown."""
    if found is None:
        return []
    omitted = [found.omitted, found.other[1] if found.other else None]
    if (out := [each for each in omitted if each is not None]) and min(out) > MOST_LEFT_OUT:
        return []
    several = isinstance(found.expr, Add)
    held = sorted((size for size in formula.display_expr.free_symbols if not letter(size).growth), key=print_order)
    but: Line = maybe(held, " except ", *listed(*([Math.of(size)] for size in held)))
    grow = "leading terms" if several else "leading term"
    line: list[Piece] = [f"The {grow} as all sizes", *but, f" grow together {'are' if several else 'is'} "]
    line += [Math.of(found.expr), "."]
    if found.omitted is not None:
        whose: Piece = "these sizes" if is_changed(subject, formula) else Code(subject.name)
        line += [f" {'They' if several else 'It'} {_omission(found.omitted, 'the total', several)} for ", whose]
        if found.other:
            name, there = found.other
            alike = (there < 0) == (found.omitted < 0)
            line += [f", and {percent(abs(there)) if alike else _omission(there, 'it', several)} for ", Code(name)]
        line += ["."]
    return [Heading(1, ["Leading terms"]), Paragraph(line)]


def _omission(share: Fraction, total: str, several: bool) -> str:
    """Return how much of the total leading terms omit, or by how much they exceed it."""
    if share < 0:
        return f"{'exceed' if several else 'exceeds'} {total} by {percent(-share)}"
    return f"{'omit' if several else 'omits'} {percent(share)} of {total}"


MOST_LEFT_OUT = Fraction(1, 10)  # leading terms that omit more for every model shown are not printed


def _numbers(found: Chain | None, formula: Formula, subject: SubjectFacts) -> list[Block]:
    """Return the substitution of the numbers; nothing if a size has no value."""
    if found is None:
        return []
    whose = maybe(not is_changed(subject, formula), " for ", Code(subject.name))
    return [Heading(1, ["Numerical value", *whose]), Equation(Chain((_label(formula),), found.steps))]


def _breakdown(formula: Formula, value: int | Fraction | None, amounts: Sequence[AmountFacts]) -> list[Block]:
    rows: Rows = [[[named(row.name, formula)], [Math.of(row.count)], [Math.of(row.each)]] for row in amounts]
    head: list[Line] = [["Row"], ["Copies"], ["Each"], ["Total"]]
    return [Heading(1, ["Row by row"]), amount_table(head, "lrl", rows, amounts, value, _rows(formula))]


def _rows(formula: Formula) -> Line:
    return [f"{capital(formula.measure.title)} row by row."]


def _presets(found: Sequence[PresetFacts], more: int, formula: Formula) -> list[Block]:
    """Return the table of presets with this formula; ``more`` is the number of those that it leaves out."""
    blocks: list[Block] = []
    if found:
        head: list[Line] = [["Preset"], [capital(unit_of(formula))], ["Source of the sizes"]]
        rows: list[Sequence[Line]] = [
            [[Code(preset.name)], [f"{preset.value:,}"], sentence(preset.source)] for preset in found
        ]
        blocks += [Heading(1, ["Presets"]), Table(head, rows, "lrw", caption=["Presets with this formula."])]
    if more:
        said = f"{more} more presets have" if more > 1 else "One more preset has"
        said += f" this formula, {len(found) + more} in all"
        blocks.append(Paragraph([f"{said}; to list all presets: ", Code("symformer list --presets"), "."]))
    return blocks


def _variants(found: Sequence[VariantFacts], formula: Formula, subject: SubjectFacts) -> list[Block]:
    """Return the table of the other variants of an architecture."""
    if not found:
        return []
    rows: list[Sequence[Line]] = []
    for each in found:
        value = [f"{each.value:,}"] if each.value is not None else []
        example = [f" ({each.example})"] if each.example else []
        difference = [_as_difference(formula, each.formula)]
        same = maybe(each.meaning == [] and difference == ["unchanged"], "the same structure")
        meaning = each.meaning or same
        rows.append([[Code(each.options), *maybe(meaning, ": ", *meaning)], difference, [*value, *example]])
    counted = any(row[-1] for row in rows)
    head: list[Line] = [["Variant"], ["Formula"], *([[column(subject, formula)]] if counted else [])]
    rows = rows if counted else [row[:-1] for row in rows]
    # In the caption, the sentences on tensors stay on the page of the table.
    unsaved = [piece for each in found for line in _unsaved(formula, each) for piece in (" ", *line)]
    caption: Line = ["The formula with other model options.", *unsaved]
    table = Table(head, rows, "wwr" if counted else "ww", caption=caption)
    return [Heading(1, ["Variants"]), table]


def _unsaved(formula: Formula, variant: VariantFacts) -> Iterator[Line]:
    """Yield a sentence on the tensors of remaining operations that only the operations a variant removes save."""
    left = {line.key: line.terms for _, line in variant.formula.root.leaves()}
    own = [line for _, line in formula.root.leaves()]
    if not left.keys() < {line.key for line in own}:
        return
    gone = [line for line in own if line.key not in left and line.entry is not None and line.entry.module]
    removed = dict.fromkeys(class_path(line.path, formula) for line in gone)
    missing = {
        term.label: None
        for line in own
        if line.key in left
        for term in line.terms
        if term.label not in {each.label for each in left[line.key]}
    }
    if missing and removed:
        tensors, verb = listed(*([Code(each)] for each in missing)), "saves" if len(removed) == 1 else "save"
        names = listed(*([Code(each)] for each in removed))
        yield ["Only ", *names, f" {verb} ", *tensors, ", so ", Code(variant.options), " also omits these bytes."]


def _as_difference(formula: Formula, sibling: Formula) -> Piece:
    """Return a variant's formula, as a difference from the given formula if that is shorter."""
    more = sibling.collect_totals(expand(sibling.display_expr - formula.display_expr))
    if more == 0:
        return "unchanged"
    if sibling.measure.letter != formula.measure.letter or len(Add.make_args(more)) * 2 > len(
        Add.make_args(sibling.display_expr)
    ):
        return Math.of(sibling.display_expr)
    terms = [tree(term) for term in ordered_terms(more)]
    return Math(Sum((_label(formula), *terms)))


def _integer(number: int | None) -> Line:
    return [] if number is None else [f"{number:,}"]
