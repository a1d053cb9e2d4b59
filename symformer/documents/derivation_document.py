"""The derivation as a document: definition, parts, model, numbers, check against torch, references."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sympy import Add, Symbol, expand

from ..formulas.factorization import factored
from ..formulas.formula import Formula
from ..formulas.ratio import Ratio
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.notation.display_tree import Label, Sum, ordered_terms, sizes_of, tree
from ..language.notation.text import amount, number, percent
from ..language.symbols import letter, print_order
from ..models.model import Model
from ..models.provenance import ConfigLocation
from ..output.blocks import (
    Block,
    Code,
    Contents,
    Document,
    Equation,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    References,
    Strong,
    Table,
    capital,
    formulas_in,
    listed,
    maybe,
    numbered,
)
from ..output.chain import Chain
from ..papers import paper
from ..views.derivation_facts import DerivationFacts, ExampleFacts, QuantityFacts, derivation_facts
from .condition_text import conditions
from .figures.inset import illustration
from .key_result import message
from .part_sections import about_part, named, parts
from .sentences import sentence
from .subject import Subject, in_title
from .verification import check, short_check


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
        check against torch.
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
    found = derivation_facts(model, quantities, conventions, full=form == "full", skip_refused=bool(together))
    return laid_out(found, version, together, form)


def laid_out(found: DerivationFacts, version: str, together: str = "", form: str = "full") -> Document:
    """Return the document that states the facts of a derivation; the arguments are those of ``document``."""
    chapters = [_chapter(each, form, first=place == 0) for place, each in enumerate(found.quantities)]
    drawn = illustration(found.figure) if form == "full" and found.figure else []
    blocks: list[Block] = []
    if len(chapters) == 1:
        (one,) = chapters
        letters = _alphabet([one.facts], [*one.before, *one.after])
        blocks += [*one.before, *letters, *drawn, *one.after]
    else:
        shown = [block for each in chapters for block in (*each.before, *each.after)]
        letters = _alphabet(found.quantities, shown)
        blocks += [Contents(), *([Heading(1, ["Symbols"], "symbols"), *letters] if letters else []), *drawn]
        for each in chapters:
            measure = each.facts.formula.measure
            blocks.append(Heading(1, [capital(measure.title)], measure.name))
            blocks += [_lowered(block) for block in (*each.before, *each.after)]
    if found.refused:
        blocks.append(Heading(1, ["Quantities without a formula"]))
        blocks += [Paragraph([Code(name), f": {reason}."]) for name, reason in found.refused]
    if form == "short":  # two or three tables on a page need no numbers
        blocks = [replace(block, caption=()) if isinstance(block, Table) else block for block in blocks]
    blocks, keys = numbered(blocks)
    if keys:
        entries = [(key, paper(key).byline, paper(key).title, paper(key).place) for key in keys]
        blocks += [Heading(1, ["References"]), References(entries)]
    titles = [each.formula.measure.title for each in found.quantities]
    measures = together or " and ".join(filter(None, (", ".join(titles[:-1]), titles[-1])))
    return Document(
        in_title(found, measures),
        _subtitle(found, version),
        blocks,
        ["transformer", found.title, *titles],
        _attached(found, keys),
    )


def _attached(found: DerivationFacts, keys: Sequence[str]) -> list[tuple[str, str]]:
    """Return the attached files: the formulas as JSON, as ``show --json`` prints them, and the papers as BibTeX."""
    told = [each.json for each in found.quantities]
    files = [("formulas.json", json.dumps(told, indent=1, ensure_ascii=False) + "\n")]
    if keys:
        files.append(("references.bib", "\n\n".join(paper(key).bibtex() for key in keys) + "\n"))
    return files


def _subtitle(found: DerivationFacts, version: str) -> str:
    """Return the subtitle: how the steps are checked, and whether the results are checked against torch."""
    held = [each.check.is_exact for each in found.quantities]
    if all(held):
        compared = "the result is checked against torch" if len(held) == 1 else "every result is checked against torch"
    elif any(held):
        compared = "each chapter ends with its check against torch"
    else:
        compared = "no certificate checks the result against torch"
    return f"Derived by symformer {version}. Every step is verified symbolically; {compared}."


def _lowered(block: Block) -> Block:
    return replace(block, level=block.level + 1) if isinstance(block, Heading) else block


@dataclass(frozen=True)
class _DerivationChapter:
    """The blocks of one quantity, before and after the table of symbols."""

    facts: QuantityFacts
    before: list[Block]
    after: list[Block]


def _chapter(found: QuantityFacts, form: str, first: bool) -> _DerivationChapter:
    holds = _conditions(found)
    if isinstance(found.formula, Ratio):
        result, rest = _ratio(found.formula, found)
        if form == "short":
            return _DerivationChapter(found, [*result, *_chosen(found)], [*holds, *rest[-1:]])
        return _DerivationChapter(found, [*result, *_counted(found, first)], [*holds, *rest])
    result = [*_result(found), *message(found)]
    if form == "short":
        return _DerivationChapter(found, [*result, *_chosen(found)], [*holds, *_page(found)])
    rest = parts(found, first)
    if found.examples:
        rest += [*_leading(found, found.examples), *_numbers(found, found.examples)]
    rest += _breakdown(found)
    if found.examples:
        rest += _presets(found, found.examples)
    rest += check(found.check)
    return _DerivationChapter(found, [*result, *_counted(found, first)], [*holds, *rest])


def _chosen(found: QuantityFacts) -> list[Block]:
    """Return the conventions by name only, for the short form."""
    notes = [[Code(f"{each.name}={each.value}")] for each in found.conventions]
    blocks: list[Block] = [Paragraph(["Counted with ", *listed(*notes), "."])] if notes else []
    blocks += map(Paragraph, found.ranks)
    return blocks


def _page(found: QuantityFacts) -> list[Block]:
    """Return the short form of a chapter, after its result."""
    formula = found.formula
    rows: list[Sequence[Line]] = []
    for part in found.parts:
        cells: list[Line] = [[named(part.name, formula)], [Math.of(part.count)], [Math(factored(part.each))]]
        if part.share is not None:
            cells += [[f"{part.value:,}"], [percent(part.share)]]
        rows.append(cells)
    head: list[Line] = [["Part"], ["Copies"], ["Each"], *([["Total"], ["Share"]] if found.has_numbers else [])]
    caption: Line = [f"The {_unit(formula)} by part."]
    table = Table(head, rows, "lrlrr" if found.has_numbers else "lrl", caption=caption)
    return [table, Paragraph(short_check(found.check))]


def _ratio(formula: Ratio, found: QuantityFacts) -> tuple[list[Block], list[Block]]:
    """Return the blocks of a ratio: the result, then both sides, the quotient of each row and the check."""
    above, below = formula.numerator, formula.denominator
    quotient = Chain((_label(formula),), (Quotient(_label(above), _label(below)),))
    result: list[Block] = [Equation(quotient, key=True, id=formula.id)]
    result += [Equation(Chain((_label(side),), (tree(side.display_expr),))) for side in (above, below)]
    letters = Math(_label(above)), Math(_label(below))
    said_of = f" denotes the {above.measure.title} and ", f" the {below.measure.title}."
    result.append(Paragraph([letters[0], said_of[0], letters[1], said_of[1]]))
    unit = formula.measure.unit
    if found.value is not None:
        value = amount(found.value, unit)
        line = Subject(found.subject).line
        result.append(Paragraph(["For ", *line, ", this is ", Strong(value), f" {unit}."]))
    rest: list[Block] = []
    for side in (above, below):
        if not side.root.lines:  # not a quantity of the model, such as a device's peak
            continue
        anchor = f"{formula.id}.{side.id.rpartition('.')[2]}"  # side.id is the anchor of its own chapter
        rest.append(Heading(1, [capital(side.measure.title)], anchor))
        rows: list[Sequence[Line]] = [
            [[named(row.path, formula)], [Math.of(row.count)], [Math.of(row.each)]]
            for row in side.rows
            if row.each != 0
        ]
        caption: Line = [f"{capital(side.measure.title)} row by row."]
        table = Table([["Row"], ["Copies"], ["Each"]], rows, "lrl", caption=caption)
        rest.append(table if rows else Paragraph(["Every row is 0."]))
    if any(row.each != 1 for row in found.rows):  # in a share, every row is 0 or 1
        head: list[Line] = [["Row"], ["Each"], *([[unit]] if found.has_numbers else [])]
        rows = [
            [[named(row.name, formula)], [Math.of(row.each)], *([[number(row.value)]] if row.value is not None else [])]
            for row in found.rows
        ]
        table = Table(head, rows, "llr" if found.has_numbers else "ll", caption=_rows(formula))
        rest += [Heading(1, ["Row by row"]), table]
    return result, [*rest, Heading(1, ["The check against torch"]), Paragraph([found.checked or RATIO])]


RATIO = (
    "A ratio has no certificate of its own. The numerator is counted as the run's FLOPs, the denominator as its "
    "memory traffic, and each of these has its own check."
)


def _label(formula: Formula) -> Label:
    return Label(formula.measure.letter, "", formula.display_expr)


def _unit(formula: Formula) -> str:
    """Return the unit of a total: "parameters" for a total of weights, whose shapes count elements."""
    return "parameters" if formula.measure.unit == "elements" else formula.measure.unit


def _result(found: QuantityFacts) -> list[Block]:
    formula = found.formula
    steps = dict.fromkeys(
        (factored(formula.display_expr), tree(formula.display_expr))
    )  # a single step if nothing factors out
    blocks: list[Block] = [Equation(Chain((_label(formula),), tuple(steps)), key=True, id=formula.id)]
    if found.value is not None:
        line, value = Subject(found.subject).line, f"{found.value:,}"
        blocks.append(Paragraph(["For ", *line, ", this is ", Strong(value), f" {_unit(formula)}."]))
    return blocks


def _counted(found: QuantityFacts, first: bool) -> list[Block]:
    about = about_part(found.formula.root, found.formula)
    blocks: list[Block] = [
        Heading(1, ["Definition and conventions"]),
        Paragraph([*maybe(first, *about, " "), *sentence(found.definition)]),
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
    if found.options:
        options = ", ".join(f"{name}={value}" for name, value in found.options.items())
        blocks.append(Paragraph(["Non-default model options: ", Code(options), "."]))
    return blocks


def _alphabet(found: Sequence[QuantityFacts], blocks: Sequence[Block]) -> list[Block]:
    """Return the table of exactly those symbols that occur in these blocks."""
    used = {symbol for shown in formulas_in(blocks) for symbol in sizes_of(shown)}
    subjects = [Subject(each.subject) for each in found]
    known = found[0].subject.known
    places: dict[str, ConfigLocation] = {}
    for each in found:
        places = {**each.places, **places}
    rows: list[Sequence[Line]] = [
        [[Math.of(size)], [letter(size).meaning], _place(size, places.get(size.name)), _integer(known.get(size))]
        for size in sorted(used, key=print_order)
    ]
    head: list[Line] = [["Symbol"], ["Meaning"], ["In the code"], [subjects[0].column]]
    cols = [0, 1, *([2] if any(row[2] for row in rows) else []), *([3] if any(row[3] for row in rows) else [])]
    align, cells = "".join("cllr"[i] for i in cols), [[row[i] for i in cols] for row in rows]
    values: Line = [", with their values in ", *subjects[0].line] if 3 in cols else []
    table = Table([head[i] for i in cols], cells, align, caption=["Symbols", *values, "."])
    said = dict.fromkeys(tuple(line) for each in subjects for line in (each.read_at, each.assumed) if line)
    return [table, *(Paragraph(line) for line in said if 3 in cols)] if rows else []


def _place(size: Symbol, place: ConfigLocation | None) -> Line:
    """Return the config field of a size; empty for a size of the run, which no config contains."""
    if place is None or (letter(size).run and place.field == size.name):
        return []
    if place.counted:
        return [Code(place.counted), " in ", Code(place.field)]
    if place.of:
        return [Code(place.field), " of ", Code(place.of)]
    return [Code(place.field), *maybe(place.less, " minus ", Code(place.less))]


def _conditions(found: QuantityFacts) -> list[Block]:
    notes = conditions(found.conditions)
    return [Paragraph(["The formula holds if ", *listed(*notes), "."])] if notes else []


def _leading(found: QuantityFacts, examples: ExampleFacts) -> list[Block]:
    """Return the leading terms; nothing if they omit too much of the total at the numbers shown."""
    leading = examples.leading
    if leading is None:
        return []
    omitted = [leading.omitted, leading.other[1] if leading.other else None]
    if (out := [each for each in omitted if each is not None]) and min(out) > MOST_LEFT_OUT:
        return []
    several = isinstance(leading.expr, Add)
    free = found.formula.display_expr.free_symbols
    held = sorted((size for size in free if not letter(size).growth), key=print_order)
    but: Line = maybe(held, " except ", *listed(*([Math.of(size)] for size in held)))
    grow = "leading terms" if several else "leading term"
    line: list[Piece] = [f"The {grow} as all sizes", *but, f" grow together {'are' if several else 'is'} "]
    line += [Math.of(leading.expr), "."]
    if leading.omitted is not None:
        whose: Line = ["these sizes"] if found.subject.changed else [Code(found.subject.name)]
        line += [f" {'They omit' if several else 'It omits'} {percent(leading.omitted)} of the total for ", *whose]
        if leading.other:
            name, there = leading.other
            line += [f", and {percent(there)} for ", Code(name)]
        line += ["."]
    return [Heading(1, ["Leading terms"]), Paragraph(line)]


MOST_LEFT_OUT = Fraction(1, 10)  # leading terms that omit more for every model shown are not printed


def _numbers(found: QuantityFacts, examples: ExampleFacts) -> list[Block]:
    """Return the substitution of the numbers; nothing if a size has no value."""
    if examples.substitution is None:
        return []
    return [
        Heading(1, ["Numerical value", *maybe(not found.subject.changed, " for ", Code(found.subject.name))]),
        Equation(Chain((_label(found.formula),), examples.substitution.steps)),
    ]


def _breakdown(found: QuantityFacts) -> list[Block]:
    formula = found.formula
    head: list[Line] = [["Row"], ["Copies"], ["Each"]]
    align = "lrl"
    if found.has_numbers:
        head += [["Total"], ["Share"]]
        align += "rr"
    rows: list[Sequence[Line]] = []
    for row in found.rows:
        cells: list[Line] = [[named(row.name, formula)], [Math.of(row.count)], [Math.of(row.each)]]
        if row.share is not None:
            cells += [[f"{row.value:,}"], [percent(row.share)]]
        rows.append(cells)
    if found.has_numbers:
        rows.append([["Total"], [], [], [f"{found.value:,}"], [percent(Fraction(1))]])
    return [Heading(1, ["Row by row"]), Table(head, rows, align, total=found.has_numbers, caption=_rows(formula))]


def _rows(formula: Formula) -> Line:
    return [f"{capital(formula.measure.title)} row by row."]


def _presets(found: QuantityFacts, examples: ExampleFacts) -> list[Block]:
    """Return the table of presets with this formula and the table of the other variants."""
    formula = found.formula
    blocks: list[Block] = []
    if examples.presets:
        head: list[Line] = [["Preset"], [capital(_unit(formula))], ["Source of the sizes"]]
        rows: list[Sequence[Line]] = [
            [[Code(preset.name)], [f"{preset.value:,}"], sentence(preset.source)] for preset in examples.presets
        ]
        blocks += [Heading(1, ["Presets"]), Table(head, rows, "lrw", caption=["Presets with this formula."])]
    if more := examples.more_presets:
        said = f"{more} more presets have" if more > 1 else "One more preset has"
        blocks.append(Paragraph([f"{said} this formula; to list all presets: ", Code("symformer list --presets"), "."]))
    others: list[Sequence[Line]] = []
    for each in examples.variants:
        value = [f"{each.value:,}"] if each.value is not None else []
        example = [f" ({each.example})"] if each.example else []
        others.append([[Code(each.options)], [_as_difference(formula, each.formula)], [*value, *example]])
    if others:
        counted = any(row[-1] for row in others)
        head = [["Variant"], ["Formula"], *([[Subject(found.subject).column]] if counted else [])]
        rows = others if counted else [row[:-1] for row in others]
        caption: Line = ["The formula with other model options."]
        blocks += [Heading(1, ["Variants"]), Table(head, rows, "lwr" if counted else "lw", caption=caption)]
    return blocks


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
