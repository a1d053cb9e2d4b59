"""The derivation as a document: definition, parts, model, numbers, check against torch, references."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from sympy import Add, Expr, Integer, Symbol, expand

from ..architectures import architecture, presets, presets_like, presets_of, variant
from ..architectures.base_architecture import Architecture
from ..components.base import Component, spell_option
from ..formulas.account import Line as AccountLine
from ..formulas.derivation import Chain, substitution
from ..formulas.factorization import factored
from ..formulas.formula import Formula, Ratio
from ..language.errors import RuleError, SymformerError
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.notation.display_tree import Label, Sum, ordered_terms, sizes_of, tree
from ..language.notation.text import number, percent
from ..language.sizes import AtMost, Condition, Differs, Divides, Excludes, Numbers, evaluate
from ..language.symbols import RANK, letter
from ..language.target import name_of
from ..models.model import Model
from ..models.provenance import ConfigLocation
from ..papers import paper
from ..quantities import quantity as find_quantity
from ..quantities.elementwise import printed_table
from ..views.summary import amount, share, show_json, unused_size_notes
from .blocks import (
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
    formulas_in,
    numbered,
)
from .figures.inset import illustration
from .key_result import message
from .part_sections import about_part, named, parts
from .sentences import capital, listed, maybe, sentence
from .subject import Subject, in_title, of_one_rank, placed
from .verification import LISTED, certificate_of, check, short_check


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
    formulas, refused = [], []
    for name in quantities:
        known = find_quantity(name).choices
        try:
            formulas.append(model.formula(name, **{k: v for k, v in conventions.items() if k in known}))
        except RuleError as error:
            if not together:
                raise
            refused.append((name, str(error)))
    if not together:
        model.asked_by(formulas)
    chapters = [_chapter(model, formula, form, first=place == 0) for place, formula in enumerate(formulas)]
    drawn = illustration(with_numbers(model), formulas[0]) if form == "full" and formulas else []
    blocks: list[Block] = []
    if len(chapters) == 1:
        (one,) = chapters
        letters = _alphabet([one.subject], [*one.before, *one.after])
        blocks += [*one.before, *letters, *drawn, *one.after]
    else:
        shown = [block for each in chapters for block in (*each.before, *each.after)]
        letters = _alphabet([each.subject for each in chapters], shown)
        blocks += [Contents(), *([Heading(1, ["Symbols"], "symbols"), *letters] if letters else []), *drawn]
        for each in chapters:
            measure = each.subject.formula.measure
            blocks.append(Heading(1, [capital(measure.title)], measure.name))
            blocks += [_lowered(block) for block in (*each.before, *each.after)]
    if refused:
        blocks.append(Heading(1, ["Quantities without a formula"]))
        blocks += [Paragraph([Code(name), f": {reason}."]) for name, reason in refused]
    if form == "short":  # two or three tables on a page need no numbers
        blocks = [replace(block, caption=()) if isinstance(block, Table) else block for block in blocks]
    blocks, keys = numbered(blocks)
    if keys:
        entries = [(key, paper(key).byline, paper(key).title, paper(key).place) for key in keys]
        blocks += [Heading(1, ["References"]), References(entries)]
    titles = [formula.measure.title for formula in formulas]
    measures = together or " and ".join(filter(None, (", ".join(titles[:-1]), titles[-1])))
    return Document(
        in_title(model, measures, formulas),
        _subtitle(model, formulas, version),
        blocks,
        ["transformer", model.title, *titles],
        _attached(model, formulas, keys),
    )


def _attached(model: Model, formulas: Sequence[Formula], keys: Sequence[str]) -> list[tuple[str, str]]:
    """Return the attached files: the formulas as JSON, as ``show --json`` prints them, and the papers as BibTeX."""
    told = [{**show_json(model, formula), "id": formula.id, "target": name_of(model.target)} for formula in formulas]
    files = [("formulas.json", json.dumps(told, indent=1, ensure_ascii=False) + "\n")]
    if keys:
        files.append(("references.bib", "\n\n".join(paper(key).bibtex() for key in keys) + "\n"))
    return files


def _subtitle(model: Model, formulas: Sequence[Formula], version: str) -> str:
    """Return the subtitle: how the steps are checked, and whether the results are checked against torch."""
    held = [_held(model, formula) for formula in formulas]
    if all(held):
        compared = "the result is checked against torch" if len(held) == 1 else "every result is checked against torch"
    elif any(held):
        compared = "each chapter ends with its check against torch"
    else:
        compared = "no certificate checks the result against torch"
    return f"Derived by symformer {version}. Every step is verified symbolically; {compared}."


def _held(model: Model, formula: Formula) -> bool:
    """Return True if a certificate or a trace checks this exact formula against torch; per-rank formulas have none."""
    if placed(formula):
        return False
    if model.provenance.of(formula.measure.name).from_torch:
        return True
    certificate = certificate_of(model, formula)
    return certificate is not None and (
        certificate.id != formula.id or dict(certificate.conventions) == dict(formula.conventions)
    )


def _lowered(block: Block) -> Block:
    return replace(block, level=block.level + 1) if isinstance(block, Heading) else block


@dataclass(frozen=True)
class _DerivationChapter:
    """The blocks of one quantity, before and after the table of symbols."""

    subject: Subject
    before: list[Block]
    after: list[Block]


def _chapter(model: Model, formula: Formula, form: str, first: bool) -> _DerivationChapter:
    shown = with_numbers(model)
    numbered_ = bool(shown.known) and set(formula.symbols) <= shown.known.keys()
    subject = Subject(shown, formula)
    if isinstance(formula, Ratio):
        result, rest = _ratio(formula, subject, numbered_)
        if form == "short":
            checked = rest[-1:]
            before = [*result, *_chosen(formula, shown.known)]
            return _DerivationChapter(subject, before, [*_conditions(model, formula), *checked])
    else:
        result = _result(formula, subject, numbered_)
        numbers = shown.known if numbered_ else None
        result += message(model, formula, numbers)
        if form == "short":
            return _DerivationChapter(
                subject, [*result, *_chosen(formula, shown.known)], _page(model, formula, numbers)
            )
        rest = parts(model, formula, first)
        rest += _leading(formula, subject, numbered_)
        if numbered_:
            rest += _numbers(formula, subject)
        rest += _breakdown(formula, shown, numbered_)
        rest += _presets(model, formula, subject)
        rest += check(model, formula)
    return _DerivationChapter(
        subject, [*result, *_counted(model, formula, first)], [*_conditions(model, formula), *rest]
    )


def _chosen(formula: Formula, numbers: Numbers) -> list[Block]:
    """Return the conventions by name only, for the short form."""
    said = find_quantity(formula.measure.name).said(formula).items()
    notes = [[Code(f"{name}={value}")] for name, value in said if (name, value) != ("data", "off") or placed(formula)]
    blocks: list[Block] = [Paragraph(["Counted with ", *listed(*notes), "."])] if notes else []
    if one := of_one_rank(formula, numbers):
        blocks.append(Paragraph(one))
    return blocks


def _page(model: Model, formula: Formula, numbers: Numbers | None) -> list[Block]:
    """Return the short form of a chapter, after its result."""
    rows: list[Sequence[Line]] = []
    total = formula.value(dict(numbers)) if numbers else 0
    for count, line in _pieces(formula.root, Integer(1)):
        each = expand(line.each.xreplace(formula.simplified))
        cells: list[Line] = [[named(line.path, formula)], [Math.of(count)], [Math(factored(each))]]
        if numbers:
            value = evaluate((count * each).xreplace(formula.relations), numbers, line.path)
            cells += [_integer(value), [percent(share(value, total))]]
        rows.append(cells)
    head: list[Line] = [["Part"], ["Copies"], ["Each"], *([["Total"], ["Share"]] if numbers else [])]
    table = Table(head, rows, "lrlrr" if numbers else "lrl", caption=[f"The {formula.measure.unit} by part."])
    return [*_conditions(model, formula), table, Paragraph(short_check(model, formula))]


def _pieces(line: AccountLine, count: Expr) -> Iterator[tuple[Expr, AccountLine]]:
    """Yield the nonzero parts of the model and of its layers, each with its number of copies."""
    for below in line.lines:
        if below.each == 0:
            continue
        copies = count * below.count
        if below.path.endswith("*") and any(inner.entry is None and inner.each != 0 for inner in below.lines):
            yield from _pieces(below, copies)
        else:
            yield copies, below


def _ratio(formula: Ratio, subject: Subject, numbered_: bool) -> tuple[list[Block], list[Block]]:
    """Return the blocks of a ratio: the result, then both sides, the quotient of each row and the check."""
    above, below = formula.above, formula.over
    if below.expanded == 0:
        raise RuleError(f"{formula.id} is undefined: its {below.measure.title} are 0")
    quotient = Chain((_label(formula),), (Quotient(_label(above), _label(below)),))
    result: list[Block] = [Equation(quotient, key=True, id=formula.id)]
    result += [Equation(Chain((_label(side),), (tree(side.written),))) for side in (above, below)]
    letters = Math(_label(above)), Math(_label(below))
    said_of = f" denotes the {above.measure.title} and ", f" the {below.measure.title}."
    result.append(Paragraph([letters[0], said_of[0], letters[1], said_of[1]]))
    known = subject.model.known
    if numbered_:
        value = amount(formula.value(dict(known)), formula.measure.unit)
        result.append(Paragraph(["For ", *subject.line, ", this is ", Strong(value), f" {formula.measure.unit}."]))
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
    head: list[Line] = [["Row"], ["Each"], *([[formula.measure.unit]] if numbered_ else [])]
    rows = []
    for row in formula.rows:
        if row.each == 0:
            continue
        value_cell: list[Line] = [[number(formula.of_row(row, known))]] if numbered_ else []
        rows.append([[named(row.path, formula)], [Math.of(row.each)], *value_cell])
    if any(row.each not in (0, 1) for row in formula.rows):  # in a share, every row is 0 or 1
        rest += [Heading(1, ["Row by row"]), Table(head, rows, "llr" if numbered_ else "ll", caption=_rows(formula))]
    said = find_quantity(formula.measure.name).checked or RATIO
    return result, [*rest, Heading(1, ["The check against torch"]), Paragraph([said])]


RATIO = (
    "A ratio has no certificate of its own. The numerator is counted as the run's FLOPs, the denominator as its "
    "memory traffic, and each of these has its own check."
)


def with_numbers(model: Model) -> Model:
    """The model itself if it has numbers; else its first preset with these options, in the same run, for examples."""
    if not all(letter(size).run for size in model.known) or not isinstance(model.component, Architecture):
        return model
    for preset in _presets_of(model.component):
        if preset.relations == model.relations:
            return preset.set({size: Integer(number) for size, number in model.numbers.items()})
    return model


def _label(formula: Formula) -> Label:
    return Label(formula.measure.letter, "", formula.written)


def _result(formula: Formula, subject: Subject, numbered_: bool) -> list[Block]:
    steps = dict.fromkeys((factored(formula.written), tree(formula.written)))  # a single step if nothing factors out
    blocks: list[Block] = [Equation(Chain((_label(formula),), tuple(steps)), key=True, id=formula.id)]
    if numbered_:
        value = formula.value(dict(subject.model.known))
        blocks.append(
            Paragraph(["For ", *subject.line, ", this is ", Strong(f"{value:,}"), f" {formula.measure.unit}."])
        )
    return blocks


def _counted(model: Model, formula: Formula, first: bool) -> list[Block]:
    question = find_quantity(formula.measure.name)
    blocks: list[Block] = [
        Heading(1, ["Definition and conventions"]),
        Paragraph([*maybe(first, *about_part(formula.root, formula), " "), *sentence(question.states(formula))]),
    ]
    if one := of_one_rank(formula, model.known):
        blocks.append(Paragraph(one))
    blocks += [Paragraph(sentence(each)) for each in unused_size_notes(model, formula)]
    for name, value in question.said(formula).items():
        if name == "data" and value == "off" and not placed(formula):
            continue  # there is only one rank
        meaning = question.choices[name].meanings[value]
        blocks.append(Paragraph([Code(f"{name}={value}"), ": ", *sentence(meaning), "."]))
    if formula.conventions.get("count") == "all":
        head: list[Line] = [["Operation"], ["FLOPs per element"], ["Steps"]]
        counts: list[Sequence[Line]] = [
            [[name], [str(count.flops)], sentence(count.steps)] for name, count in printed_table()
        ]
        caption: Line = ["FLOPs of the elementwise operations."]
        blocks.append(Table(head, counts, "lrw", caption=caption))
    if model.component.chosen:
        options = ", ".join(f"{name}={value}" for name, value in model.component.chosen.items())
        blocks.append(Paragraph(["Non-default model options: ", Code(options), "."]))
    return blocks


def _alphabet(subjects: Sequence[Subject], blocks: Sequence[Block]) -> list[Block]:
    """Return the table of exactly those symbols that occur in these blocks."""
    used = {symbol for shown in formulas_in(blocks) for symbol in sizes_of(shown)}
    known = subjects[0].model.known
    places: dict[str, ConfigLocation] = {}
    for each in subjects:
        places = {**each.model.provenance.of(each.formula.measure.name).places, **places}
    rows: list[Sequence[Line]] = [
        [[Math.of(size)], [letter(size).meaning], _place(size, places.get(size.name)), _integer(known.get(size))]
        for size in sorted(used, key=RANK.__getitem__)
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


def _conditions(model: Model, formula: Formula) -> list[Block]:
    notes = conditions(model, formula)
    return [Paragraph(["The formula holds if ", *listed(*notes), "."])] if notes else []


def conditions(model: Model, formula: Formula) -> list[Line]:
    """Return the conditions under which a formula holds, each as a clause."""
    notes: list[Line] = []
    if reading := model.provenance.of(formula.measure.name).reading:
        notes += [[Code(each.name), f" is {each.value:,}"] for each in reading.pinned]
        notes += [[Code(name), " is ", Code(other)] for name, other in reading.ties.items()]
    own = {*formula.symbols, *(size for rule in formula.constraints for size in rule.symbols)}
    for target, value in formula.relations.items():
        if not own & {target, *value.free_symbols}:
            continue  # the formula does not use these sizes
        notes.append([Math(tree(target)), " = ", Math.of(value)])
    for constraint in formula.constraints:
        if not affects_formula(constraint, formula):
            continue
        if isinstance(constraint, Divides):
            notes.append([Math.of(constraint.dividend), " is a multiple of ", Math.of(constraint.divisor)])
        elif isinstance(constraint, AtMost):
            low, high = Math.of(constraint.low), Math.of(constraint.high)
            notes.append([high, " is at least ", low] if constraint.low.is_number else [low, " is at most ", high])
        elif isinstance(constraint, Differs):
            notes.append([Math.of(constraint.left), " differs from ", Math.of(constraint.right)])
        elif isinstance(constraint, Excludes):
            notes.append(
                [
                    *listed(*([Math.of(size)] for size in constraint.ones)),
                    f" are not {'both' if len(constraint.ones) == 2 else 'all'} 1",
                ]
            )
        else:
            notes.append(sentence(str(constraint)))
    return notes


def affects_formula(constraint: Condition, formula: Formula) -> bool:
    """Return True if a condition concerns sizes of the formula: a window does not affect the number of parameters."""
    own = {*formula.symbols, *formula.relations}
    of_run = {size for size in constraint.symbols if letter(size).run and not letter(size).ranks}
    return bool(constraint.symbols & own) and of_run <= own


def _leading(formula: Formula, subject: Subject, numbered_: bool) -> list[Block]:
    """Return the leading terms; nothing if they omit too much of the total at the numbers shown."""
    leading = formula.leading()
    if leading.rest == 0:
        return []
    known = subject.model.known
    other = _other_preset(subject.model, formula) if numbered_ else None
    out = [leading.left_out(sizes) for sizes in (known, *([other.known] if other else []))] if numbered_ else []
    if out and min(out) > MOST_LEFT_OUT:
        return []
    several = isinstance(leading.expr, Add)
    held = sorted((size for size in formula.written.free_symbols if not letter(size).growth), key=RANK.__getitem__)
    but: Line = maybe(held, " except ", *listed(*([Math.of(size)] for size in held)))
    grow = "leading terms" if several else "leading term"
    line: list[Piece] = [f"The {grow} as all sizes", *but, f" grow together {'are' if several else 'is'} "]
    line += [Math.of(leading.expr), "."]
    if out:
        whose: Line = ["these sizes"] if subject.changed else [Code(subject.name)]
        line += [f" {'They omit' if several else 'It omits'} {percent(out[0])} of the total for ", *whose]
        if other:
            line += [f", and {percent(out[1])} for ", Code(other.target)]
        line += ["."]
    return [Heading(1, ["Leading terms"]), Paragraph(line)]


MOST_LEFT_OUT = Fraction(1, 10)  # leading terms that omit more for every model shown are not printed


def _other_preset(shown: Model, formula: Formula) -> Model | None:
    """Return the largest other preset with this formula, or the smallest if the model shown is the largest."""
    same = [other for other in _presets_of(shown.component) if _fits(formula, other)]
    if len(same) < 2:
        return None
    values = [formula.value(_asked(formula, other.known)) for other in same]
    largest = same[values.index(max(values))]  # the first of several equally large
    return same[values.index(min(values))] if largest.known == shown.known else largest


def _numbers(formula: Formula, subject: Subject) -> list[Block]:
    chain = substitution(formula.written, subject.model.known)
    return [
        Heading(1, ["Numerical value", *maybe(not subject.changed, " for ", Code(subject.name))]),
        Equation(Chain((_label(formula),), chain.steps)),
    ]


def _breakdown(formula: Formula, shown: Model, numbered_: bool) -> list[Block]:
    head: list[Line] = [["Row"], ["Copies"], ["Each"]]
    align = "lrl"
    if numbered_:
        head += [["Total"], ["Share"]]
        align += "rr"
    total = formula.value(dict(shown.known)) if numbered_ else 0
    rows: list[Sequence[Line]] = []
    for row in formula.rows:
        if row.each == 0:  # listed with the parts
            continue
        cells: list[Line] = [[named(row.path, formula)], [Math.of(row.count)], [Math.of(row.each)]]
        if numbered_:
            value = int(row.total.xreplace(shown.known))
            cells += [_integer(value), [percent(share(value, total))]]
        rows.append(cells)
    last: list[Line] = [["Total"], [], []]
    if numbered_:
        last += [_integer(total), [percent(share(1, 1))]]
        rows.append(last)
    return [Heading(1, ["Row by row"]), Table(head, rows, align, total=numbered_, caption=_rows(formula))]


def _rows(formula: Formula) -> Line:
    return [f"{capital(formula.measure.title)} row by row."]


@cache
def _presets_of(component: Architecture) -> tuple[Model, ...]:
    """Return the presets of an architecture with these options, as models; cached, since every chapter needs them."""
    return tuple(map(architecture, presets_like(component)))


def _sharing(model: Model, formula: Formula) -> list[Model]:
    """Return the presets of an architecture that have this formula, with or without the options of the model."""
    found: list[Model] = []
    same: dict[Component, bool] = {}
    for preset in map(architecture, presets_of(model.id)):
        if preset.component not in same:
            sibling = replace(model, component=preset.component)
            try:
                theirs = sibling.formula(formula.measure.name, **formula.conventions)
                same[preset.component] = theirs.expanded == formula.expanded
            except SymformerError:  # the quantity does not accept an option
                same[preset.component] = False
        if same[preset.component] and _fits(formula, preset):
            found.append(preset)
    return found


def _presets(model: Model, formula: Formula, subject: Subject) -> list[Block]:
    """Return the table of presets with this formula and the table of the other variants."""
    blocks: list[Block] = []
    if not isinstance(model.component, Architecture):
        return blocks
    rows: list[Sequence[Line]] = []
    known = _sharing(model, formula)
    for preset in known[:LISTED]:
        value = formula.value(_asked(formula, preset.known))
        rows.append([[Code(preset.target)], _integer(value), sentence(presets()[preset.target]["source"])])
    if rows:
        head: list[Line] = [["Preset"], [capital(formula.measure.unit)], ["Sizes from"]]
        blocks += [Heading(1, ["Presets"]), Table(head, rows, "lrw", caption=["Presets with this formula."])]
    if more := len(known) - len(rows):
        said = f"{more} more presets have" if more > 1 else "One more preset has"
        blocks.append(Paragraph([f"{said} this formula; to list all presets: ", Code("symformer list --presets"), "."]))
    shown = subject.model
    others: list[Sequence[Line]] = []
    for options in model.component.variants:
        other = variant(model, options)
        if other.component == model.component:
            continue
        try:
            sibling = other.formula(formula.measure.name, **formula.conventions)
        except RuleError:  # this variant does not support the quantity
            continue
        both = {
            name: (getattr(other.component, name), getattr(model.component, name)) for name in model.component.choices()
        }
        spelt = ", ".join(f"{name}={spell_option(ours)}" for name, (ours, theirs) in both.items() if ours != theirs)
        example = _with_sizes(other, sibling, shown)
        amount = [f"{sibling.value(_asked(sibling, example.known)):,}"] if example else []
        if example and example.target != shown.target:
            amount.append(f" ({example.target})")
        others.append([[Code(spelt)], [_as_difference(formula, sibling)], amount])
    if others:
        counted = any(row[-1] for row in others)
        head = [["Variant"], ["Formula"], *([[subject.column]] if counted else [])]
        rows = others if counted else [row[:-1] for row in others]
        caption: Line = ["The formula for other options."]
        blocks += [Heading(1, ["Variants"]), Table(head, rows, "lwr" if counted else "lw", caption=caption)]
    return blocks


def _as_difference(formula: Formula, sibling: Formula) -> Piece:
    """Return a variant's formula, as a difference from the given formula if that is shorter."""
    more = sibling.gathered(expand(sibling.written - formula.written))
    if more == 0:
        return "the same"
    if sibling.measure.letter != formula.measure.letter or len(Add.make_args(more)) * 2 > len(
        Add.make_args(sibling.written)
    ):
        return Math.of(sibling.written)
    terms = [tree(term) for term in ordered_terms(more)]
    return Math(Sum((_label(formula), *terms)))


def _fits(formula: Formula, preset: Model) -> bool:
    """Return True if a preset has a number for every size and satisfies the relations used to simplify the formula."""
    known = preset.known
    related = all(value.xreplace(known) == known[size] for size, value in formula.relations.items() if size in known)
    return related and set(formula.symbols) <= known.keys()


def _asked(formula: Formula, known: Numbers) -> Numbers:
    """Return the numbers that a formula, its relations or its conditions need."""
    asked = {*formula.symbols, *formula.relations, *(size for rule in formula.constraints for size in rule.symbols)}
    return {size: number for size, number in known.items() if size in asked}


def _with_sizes(variant_: Model, formula: Formula, shown: Model) -> Model | None:
    """Return the source of a variant's example numbers: the model shown, or else the variant's first preset."""
    return next((model for model in (shown, *_presets_of(variant_.component)) if _fits(formula, model)), None)


def _integer(number: int | None) -> Line:
    return [] if number is None else [f"{number:,}"]
