"""The derivation as a document: what is counted, each part, the model, the numbers, the check, the references."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache
from math import prod

from sympy import Add, Expr, Integer, Mul, Symbol, expand

from ..answers.summary import share
from ..architectures import architecture, presets, presets_of, variant
from ..architectures.base import Architecture
from ..certificates import Certificate, certificate_for
from ..components.base import Component
from ..formulas.account import Line as AccountLine
from ..formulas.derivation import Chain, Section, substitution
from ..formulas.formula import Formula, Ratio
from ..language.errors import RuleError
from ..language.notation.text import number, percent
from ..language.notation.tree import Fraction as Quotient
from ..language.notation.tree import Label, sizes_of, tree
from ..language.shapes import shape_line
from ..language.sizes import AtMost, Condition, Differs, Divides, Excludes, Numbers
from ..language.symbols import LETTERS, RANK, SYMBOLS, letter
from ..models.model import Model
from ..models.provenance import Place, Reading
from ..papers import paper
from ..quantities import quantity as find_quantity
from ..quantities.elementwise import stated
from .blocks import (
    Block,
    Code,
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
from .sentences import listed, sentence
from .subject import Subject, in_title, placed


def document(model: Model, quantities: Sequence[str], version: str, together: str = "", **conventions: str) -> Document:
    """The derivation of a model, one chapter a quantity. Raises UnknownNameError and OptionError.

    Where the quantities have a name ``together`` ("costs"), one that the model refuses is named with its reason;
    otherwise RuleError is raised.
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
    blocks: list[Block] = []
    for formula in formulas:
        chapter = _chapter(model, formula)
        if len(formulas) > 1:
            blocks.append(Heading(1, [_capital(formula.measure.title)]))
            chapter = [_lowered(block) for block in chapter]
        blocks += chapter
    if refused:
        blocks.append(Heading(1, ["What has no formula here"]))
        blocks += [Paragraph([Code(name), f": {reason}."]) for name, reason in refused]
    blocks, keys = numbered(blocks)
    if keys:
        entries = [(paper(key).byline, paper(key).title, paper(key).place) for key in keys]
        blocks += [Heading(1, ["References"]), References(entries)]
    titles = [formula.measure.title for formula in formulas]
    measures = together or " and ".join(filter(None, (", ".join(titles[:-1]), titles[-1])))
    return Document(in_title(model, measures, formulas), _subtitle(model, formulas, version), blocks)


def _subtitle(model: Model, formulas: Sequence[Formula], version: str) -> str:
    """What stands behind the lines that follow: the algebra always, and torch where it was asked."""
    held = [_held(model, formula) for formula in formulas]
    if all(held):
        compared = "the result is compared with torch" if len(held) == 1 else "every result is compared with torch"
    elif any(held):
        compared = "each chapter ends with what of it is compared with torch"
    else:
        compared = "no certificate compares the result with torch"
    return f"Derived by symformer {version}. Every line follows from the one before it, by proof; {compared}."


def _held(model: Model, formula: Formula) -> bool:
    """Whether torch was asked about this very formula, by a certificate or a trace; of a rank's share it was not."""
    if placed(formula):
        return False
    if model.provenance.of(formula.measure.name).reading is not None:
        return True
    certificate = _certificate(model, formula)
    return certificate is not None and (
        certificate.id != formula.id or dict(certificate.conventions) == dict(formula.conventions)
    )


def _certificate(model: Model, formula: Formula) -> Certificate | None:
    """The certificate of a formula, or of the number of parameters where its rows are the same."""
    if found := certificate_for(model, formula):
        return found
    params = model.formula() if formula.measure.unit == model.formula().measure.unit else formula
    return certificate_for(model, params) if params.digest == formula.digest else None


def _lowered(block: Block) -> Block:
    return replace(block, level=block.level + 1) if isinstance(block, Heading) else block


def _chapter(model: Model, formula: Formula) -> list[Block]:
    shown = with_numbers(model)
    numbered_ = bool(shown.known) and set(formula.symbols) <= shown.known.keys()
    subject = Subject(shown, formula)
    if isinstance(formula, Ratio):
        result, rest = _ratio(formula, subject, numbered_)
    else:
        result = _result(formula, subject, numbered_)
        rest = _parts(model, formula)
        rest += _leading(formula, subject, numbered_)
        if numbered_:
            rest += _numbers(formula, subject)
        rest += _breakdown(formula, shown, numbered_)
        rest += _presets(model, formula, subject)
        rest += _check(model, formula)
    counted, notes = _counted(model, formula), _conditions(model, formula)
    letters = _alphabet(subject, [*result, *counted, *notes, *rest])
    return [*result, *counted, *letters, *notes, *rest]


def _ratio(formula: Ratio, subject: Subject, numbered_: bool) -> tuple[list[Block], list[Block]]:
    """Both sides as ratios are printed: what each comes to, the quotient, and that of every operation."""
    above, below = formula.above, formula.over
    if below.expanded == 0:
        raise RuleError(f"{formula.id} is no number: its {below.measure.title} are 0")
    quotient = Chain((_label(formula),), (Quotient(_label(above), _label(below)),))
    result: list[Block] = [Equation(quotient, key=True)]
    result += [Equation(Chain((_label(side),), (tree(side.written),))) for side in (above, below)]
    known = subject.model.known
    if numbered_:
        value = number(formula.value(dict(known)))
        result.append(Paragraph(["For ", *subject.line, " this is ", Strong(value), f" {formula.measure.unit}."]))
    rest: list[Block] = []
    for side in (above, below):
        anchor = f"{formula.id}.{side.id.rpartition('.')[2]}"  # the side's own id is that of its own chapter
        rest.append(Heading(1, [_capital(side.measure.title)], anchor))
        rows: list[Sequence[Line]] = [
            [[_named(row.path, formula)], [Math.of(row.count)], [Math.of(row.each)]]
            for row in side.rows
            if row.each != 0
        ]
        rest.append(Table([["Row"], ["Copies"], ["Each"]], rows, "lrl") if rows else Paragraph(["Nothing adds to it."]))
    head: list[Line] = [["Row"], ["Each"], *([[formula.measure.unit]] if numbered_ else [])]
    rows = []
    for row in formula.rows:
        if row.each == 0:
            continue
        value_cell: list[Line] = [[number(formula.of_row(row, known))]] if numbered_ else []
        rows.append([[_named(row.path, formula)], [Math.of(row.each)], *value_cell])
    if rows:
        rest += [Heading(1, ["Row by row"]), Table(head, rows, "llr" if numbered_ else "ll")]
    return result, [*rest, Heading(1, ["The check against torch"]), Paragraph([RATIO])]


RATIO = (
    "A ratio has no certificate of its own. What stands above is counted as the FLOPs of the same run are, what stands "
    "below as its memory traffic is, and each is checked as that."
)


def _maybe(said: object, *pieces: Piece) -> Line:
    """Pieces of a line that stand there only where there is something to say."""
    return pieces if said else ()


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def with_numbers(model: Model) -> Model:
    """The model itself if it has numbers; else its first preset with these options, in the same run, for examples."""
    if not all(letter(size).run for size in model.known):
        return model
    for preset in _presets_of(model.id):
        if (preset.component, preset.relations) == (model.component, model.relations):
            return preset.set({size: Integer(number) for size, number in model.numbers.items()})
    return model


def _label(formula: Formula) -> Label:
    return Label(formula.measure.letter, "", formula.written)


def _result(formula: Formula, subject: Subject, numbered_: bool) -> list[Block]:
    blocks: list[Block] = [Equation(Chain((_label(formula),), (tree(formula.written),)), key=True)]
    if numbered_:
        value = formula.value(dict(subject.model.known))
        blocks.append(
            Paragraph(["For ", *subject.line, " this is ", Strong(f"{value:,}"), f" {formula.measure.unit}."])
        )
    return blocks


def _counted(model: Model, formula: Formula) -> list[Block]:
    question = find_quantity(formula.measure.name)
    blocks: list[Block] = [
        Heading(1, ["What is counted"]),
        Paragraph([*_about(formula.root, formula), " ", *sentence(question.states(formula))]),
    ]
    for name, value in question.said(formula).items():
        meaning = question.choices[name].meanings[value]
        blocks.append(Paragraph([Code(f"{name}={value}"), ": ", *sentence(meaning), "."]))
    if formula.conventions.get("count") == "all":
        head: list[Line] = [["Operation"], ["FLOPs an element"], ["Which are"]]
        counts: list[Sequence[Line]] = [[[name], [str(count.flops)], sentence(count.steps)] for name, count in stated()]
        blocks.append(Table(head, counts, "lrw"))
    if model.component.chosen:
        options = ", ".join(f"{name}={value}" for name, value in model.component.chosen.items())
        blocks.append(Paragraph(["Options of the model that differ from its usual form: ", Code(options), "."]))
    return blocks


def _alphabet(subject: Subject, blocks: Sequence[Block]) -> list[Block]:
    """The letters that stand in a chapter, every one of them and no other."""
    used = {symbol for shown in formulas_in(blocks) for symbol in sizes_of(shown)}
    known = subject.model.known
    places = subject.model.provenance.of(subject.formula.measure.name).places
    rows: list[Sequence[Line]] = [
        [[Math.of(size)], [letter(size).meaning], _place(size, places.get(size.name)), _integer(known.get(size))]
        for size in sorted(used, key=RANK.__getitem__)
    ]
    head: list[Line] = [["Symbol"], ["Meaning"], ["In the code"], [subject.column]]
    cols = [0, 1, *([2] if any(row[2] for row in rows) else []), *([3] if any(row[3] for row in rows) else [])]
    table = Table([head[i] for i in cols], [[row[i] for i in cols] for row in rows], "".join("cllr"[i] for i in cols))
    read: list[Block] = [Paragraph(subject.read_at)] if 3 in cols and subject.read_at else []
    return [table, *read] if rows else []


def _place(size: Symbol, place: Place | None) -> Line:
    """Where a config has a size; what only a run has stands in no config."""
    if place is None or (letter(size).run and place.field == size.name):
        return []
    if place.counted:
        return [Code(place.counted), " in ", Code(place.field)]
    if place.of:
        return [Code(place.field), " of ", Code(place.of)]
    return [Code(place.field), *_maybe(place.less, " less ", Code(place.less))]


def _conditions(model: Model, formula: Formula) -> list[Block]:
    notes: list[Line] = []
    if reading := model.provenance.of(formula.measure.name).reading:
        notes += [[Code(each.name), f" is {each.value:,}"] for each in reading.pinned]
        notes += [[Code(name), " is ", Code(other)] for name, other in reading.ties.items()]
    for target, value in formula.relations.items():
        notes.append([Math(tree(target)), " = ", Math.of(value)])
    for constraint in formula.constraints:
        if not _concerns(constraint, formula):
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
    return [Paragraph(["The formula holds where ", *listed(*notes), "."])] if notes else []


def _concerns(constraint: Condition, formula: Formula) -> bool:
    """Whether a condition is about sizes that the formula has: a window bounds no number of parameters."""
    own = {*formula.symbols, *formula.relations}
    of_run = {size for size in constraint.symbols if letter(size).run and not letter(size).ranks}
    return bool(constraint.symbols & own) and of_run <= own


def _about(line: AccountLine, formula: Formula) -> list[Piece]:
    """What a part is, with the sizes that it has where it stands for those that its class has by itself."""
    if not isinstance(line.part, Component) or line.among is not None:
        return []
    part = line.part.under(formula.simplified)
    sizes: dict[Symbol, Expr] = {}
    for each in fields(part):
        if isinstance(each.default, Symbol):
            sizes.setdefault(each.default, getattr(part, each.name))
    reads = next((entry.inputs[0].shape for below in line.walk() if (entry := below.entry) and entry.inputs), ())
    takes = shape_line(part.shapes).inputs
    width = takes[0].dims[-1] if takes and takes[0].dims else None
    if isinstance(width, Symbol) and reads and not letter(width).run:
        sizes.setdefault(width, reads[-1])
    return sentence(part.about, sizes)


def _parts(model: Model, formula: Formula) -> list[Block]:
    question = find_quantity(formula.measure.name)
    sections = list(formula.derivation)
    blocks: list[Block] = []
    for section in sections[:-1]:
        if not section.composite and section.chain is not None:
            blocks += _part(formula, section, question.columns)
    blocks += _silent(formula)
    blocks = [Heading(1, ["The parts"]), *blocks] if blocks else []
    composites = [section for section in sections[:-1] if section.composite]
    for section in composites:
        if section.chain is None:
            continue
        named = _title(section.line)
        shown = f"{named[0].lower()}{named[1:]}" if isinstance(named, str) else named
        blocks.append(Heading(1, ["The ", shown], f"{formula.id}.{section.line.key}"))
        blocks += [*_places(section, formula), Equation(section.chain)]
    whole = sections[-1]
    if whole.chain is None:
        return blocks
    reading = model.provenance.of(formula.measure.name).reading
    part = reading is None and not isinstance(model.component, Architecture)
    blocks.append(Heading(1, ["The whole" if part else "The model"], formula.id))
    if not whole.composite and whole.terms:
        blocks.append(_term_table(whole, question.columns, formula))
    return [*blocks, Equation(whole.chain)]


def _title(line: AccountLine) -> Piece:
    """What a section is called: a part by its title, a module that nobody composed by its own name."""
    return line.part.title if isinstance(line.part, Component) and line.among is None else Code(line.name)


def _part(formula: Formula, section: Section, columns: tuple[str, str]) -> list[Block]:
    blocks: list[Block] = [Heading(2, [_title(section.line)], f"{formula.id}.{section.line.key}")]
    blocks += _places(section, formula)
    blocks.append(_term_table(section, columns, formula))
    if section.chain:
        blocks.append(Equation(section.chain))
    return blocks


def _places(section: Section, formula: Formula) -> list[Block]:
    """Every place where a part stands and what it is there: one paragraph for those of which the same is true."""
    said: list[tuple[list[Piece], list[AccountLine]]] = []
    for line in section.lines:
        about = _about(line, formula)
        same = next((lines for other, lines in said if other == about), None)
        if same is None:
            said.append((about, [line]))
        else:
            same.append(line)
    blocks: list[Block] = []
    for about, lines in said:
        where: list[Piece] = []
        for line in lines:
            one = _layers(line, formula, first=not where)
            path = Code(line.path or line.name)
            where += [*_maybe(where, ", " if line.count == 1 else "; "), *_maybe(line.count != 1, *one), path]
            if not isinstance(line.part, Component) and (apart := _apart(line, formula)):
                where += [" without ", *listed(*([Code(other)] for other in apart))]
        blocks.append(Paragraph([*where, *([". ", *about] if about else [":"])]))
    return blocks


def _layers(line: AccountLine, formula: Formula, first: bool) -> Line:
    """Which layers these are: all of one kind, or what those of several kinds share, or what some have beside that."""
    if line.among is not None:
        count, among = Math.of(line.count), Math.of(line.among)
        return ["What " if first else "what ", count, " of the ", among, " layers have of their own, "]
    if line.count in formula.totals:
        return ["What all " if first else "what all ", Math.of(line.count), " layers have, "]
    return ["One of " if first else "one of ", Math.of(line.count), " equal layers, "]


def _apart(line: AccountLine, formula: Formula) -> list[str]:
    """What a module has inside it that is counted beside it, as a trace counts a list of layers."""
    inside = {id(below) for below in line.walk()}
    paths = [
        other.path
        for other in formula.root.parts()
        if other.each != 0 and line.path and other.path.startswith(f"{line.path}.") and id(other) not in inside
    ]
    return [path for path in paths if not any(path.startswith(f"{other}.") for other in paths)]


def _named(path: str, formula: Formula) -> Code:
    """The name of a row; one that is the whole of what was asked about goes by the name of that."""
    return Code(path if path.strip(" ") == path != "" else formula.id.rpartition(".")[0] + path)


def _term_table(section: Section, columns: tuple[str, str], formula: Formula) -> Table:
    rows: list[Sequence[Line]] = []
    prefix = f"{section.line.path}." if section.line.path else ""
    for _, term in section.terms:
        name = term.label.removeprefix(prefix)
        rows.append([[_named(name, formula)], [Math.shape(term.factors)], [Math.of(expand(Mul(*term.factors)))]])
    head: list[Line] = [[columns[0].capitalize()], [columns[1].capitalize()], [_capital(formula.measure.unit)]]
    return Table(head, rows, "lll")


def _silent(formula: Formula) -> list[Block]:
    """The modules that add nothing, in themselves or below, and why a tied one does not."""
    counting = [line.path for line in formula.root.walk() if line.each != 0]
    names = [
        row.path
        for row in formula.rows
        if row.each == 0 and not any(path == row.path or path.startswith(f"{row.path}.") for path in counting)
    ]
    if not names:
        return []
    line: list[Piece] = ["These add nothing: "]
    for index, name in enumerate(names):
        line += [", " if index else "", _named(name, formula)]
    line.append(".")
    for _, account in formula.root.leaves():
        entry = account.entry
        if account.each == 0 and entry and entry.shared and entry.module:
            line += [" ", Code(entry.path), " reads ", Code(entry.shared[0].path)]
            line += [", which is counted where it is stored." if formula.measure.name == "params" else "."]
    return [Paragraph(line)]


def _leading(formula: Formula, subject: Subject, numbered_: bool) -> list[Block]:
    leading = formula.leading()
    if leading.rest == 0:
        return []
    several = isinstance(leading.expr, Add)
    held = sorted((size for size in formula.written.free_symbols if not letter(size).growth), key=RANK.__getitem__)
    but: Line = _maybe(held, " but ", *listed(*([Math.of(size)] for size in held)))
    grow = "terms that grow" if several else "term that grows"
    line: list[Piece] = [f"The {grow} fastest when all sizes", *but, f" grow alike {'are' if several else 'is'} "]
    line += [Math.of(leading.expr), "."]
    if numbered_:
        whose: Line = ["these sizes"] if subject.changed else [Code(subject.name)]
        out = percent(leading.left_out(subject.model.known))
        line += [f" {'They leave' if several else 'It leaves'} out {out} of the total for ", *whose]
        if other := _other_preset(subject.model, formula):
            line += [f", and {percent(leading.left_out(other.known))} for ", Code(other.target)]
        line += ["."]
    return [Heading(1, ["The leading terms"]), Paragraph(line)]


def _other_preset(shown: Model, formula: Formula) -> Model | None:
    """The largest other preset of the same form; the smallest, where the one shown is the largest."""
    same = [other for other in _presets_of(shown.id) if other.component == shown.component and _fits(formula, other)]
    if len(same) < 2:
        return None
    values = [formula.value(_asked(formula, other.known)) for other in same]
    largest = same[values.index(max(values))]  # of several as large, the first
    return same[values.index(min(values))] if largest.known == shown.known else largest


def _numbers(formula: Formula, subject: Subject) -> list[Block]:
    chain = substitution(formula.written, subject.model.known)
    return [
        Heading(1, ["The numbers", *_maybe(not subject.changed, " of ", Code(subject.name))]),
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
        cells: list[Line] = [[_named(row.path, formula)], [Math.of(row.count)], [Math.of(row.each)]]
        if numbered_:
            value = int(row.total.xreplace(shown.known))
            cells += [_integer(value), [percent(share(value, total))]]
        rows.append(cells)
    last: list[Line] = [["Total"], [], []]
    if numbered_:
        last += [_integer(total), [percent(share(1, 1))]]
        rows.append(last)
    return [Heading(1, ["Row by row"]), Table(head, rows, align, total=numbered_)]


@cache
def _presets_of(name: str) -> tuple[Model, ...]:
    """The presets of an architecture as models: every chapter goes through all of them."""
    return tuple(architecture(preset) for preset in presets_of(name))


def _presets(model: Model, formula: Formula, subject: Subject) -> list[Block]:
    """Every preset that this formula gives the number of, and the other variants beside it."""
    blocks: list[Block] = []
    if not isinstance(model.component, Architecture):
        return blocks
    rows: list[Sequence[Line]] = []
    known = [each for each in _presets_of(model.id) if each.component == model.component and _fits(formula, each)]
    for preset in known[:_LISTED]:
        value = formula.value(_asked(formula, preset.known))
        rows.append([[Code(preset.target)], _integer(value), sentence(presets()[preset.target]["source"])])
    if rows:
        head: list[Line] = [["Preset"], [_capital(formula.measure.unit)], ["Sizes from"]]
        blocks += [Heading(1, ["Presets"]), Table(head, rows, "lrw")]
    if more := len(known) - len(rows):
        said = f"{more} more presets have" if more > 1 else "One more preset has"
        blocks.append(Paragraph([f"{said} this formula: ", Code("symformer list --presets"), "."]))
    shown = subject.model
    others: list[Sequence[Line]] = []
    for options in model.component.variants:
        other = variant(model, options)
        if other.component == model.component:
            continue
        sibling = other.formula(formula.measure.name, **formula.conventions)
        spelt = ", ".join(f"{name}={value}" for name, value in other.component.chosen.items()) or "the usual form"
        example = _with_sizes(other, sibling, shown)
        amount = [f"{sibling.value(_asked(sibling, example.known)):,}"] if example else []
        if example and example.target != shown.target:
            amount.append(f" ({example.target})")
        others.append([[Code(spelt)], [Math.of(sibling.written)], amount])
    if others:
        counted = any(row[-1] for row in others)
        head = [["Variant"], ["Formula"], *([[subject.column]] if counted else [])]
        rows = others if counted else [row[:-1] for row in others]
        blocks += [Heading(1, ["Variants"]), Table(head, rows, "lwr" if counted else "lw")]
    return blocks


def _fits(formula: Formula, preset: Model) -> bool:
    """Whether a preset has a number for every size, and the relations that the formula was simplified with."""
    known = preset.known
    related = all(value.xreplace(known) == known[size] for size, value in formula.relations.items() if size in known)
    return related and set(formula.symbols) <= known.keys()


def _asked(formula: Formula, known: Numbers) -> Numbers:
    """The numbers that a formula asks for, or that its relations and conditions are about."""
    asked = {*formula.symbols, *formula.relations, *(size for rule in formula.constraints for size in rule.symbols)}
    return {size: number for size, number in known.items() if size in asked}


def _with_sizes(variant_: Model, formula: Formula, shown: Model) -> Model | None:
    """Where a variant's example numbers come from: the model shown, or else the variant's own first preset."""
    candidates = [shown, *(model for model in _presets_of(variant_.id) if model.component == variant_.component)]
    return next((model for model in candidates if _fits(formula, model)), None)


def _integer(number: int | None) -> Line:
    return [] if number is None else [f"{number:,}"]


TRACED = (
    "At {points} random configs that played no part in finding this formula, every row was as predicted: its module, "
    "its shape and how often it stands there."
)
COUNTED = " Torch's own FlopCounterMode gave the same total at each."


def _reading(reading: Reading, unit: str) -> list[Block]:
    """What a trace says of itself: what it kept at a number, what it was held against, and with which libraries."""
    said = TRACED.format(points=reading.points) + (COUNTED if unit == "FLOPs" else "")
    blocks: list[Block] = [Paragraph([said])]
    for name, other in reading.ties.items():
        blocks.append(Paragraph([Code(name), " is ", Code(other), ": the code runs with no other."]))
    for each in reading.pinned:
        because = [": ", each.why, *_maybe(each.line, " (", Code(each.line), ")"), "."]
        blocks.append(Paragraph([Code(each.name), f" is kept at {each.value:,}", *because]))
    if reading.ignored:
        blocks.append(Paragraph([Code(", ".join(reading.ignored)), ": nothing that the class stores depends on it."]))
    if reading.unread:
        blocks.append(Paragraph([f"{reading.unread_too[0].upper()}{reading.unread_too[1:]}."]))
    facts: list[tuple[str, Line]] = [
        ("Versions", [", ".join(f"{library} {release}" for library, release in reading.versions.items())]),
        ("Points", [f"{reading.points} random configs, and {reading.builds} builds of the model in all"]),
        ("Seed", [Code(str(reading.seed))]),
    ]
    return [*blocks, Table([["Fact"], ["Value"]], [[[name], value] for name, value in facts], "lw")]


SHAPES = "by name and shape, and the total"
AXES = (
    "The matrix of a linear layer stands here as output by input, and shapes are compared up to the order of their "
    "axes: a class may store the transpose."
)


def _check(model: Model, formula: Formula) -> list[Block]:
    blocks: list[Block] = [Heading(1, ["The check against torch"])]
    if reading := model.provenance.of(formula.measure.name).reading:
        return [*blocks, *_reading(reading, formula.measure.unit)]
    certificate = _certificate(model, formula)
    if certificate is None and (checked := find_quantity(formula.measure.name).checked):
        return [*blocks, Paragraph([checked])]
    if certificate is None:
        return [*blocks, Paragraph([Strong("Not certified."), " No stored certificate fits this formula."])]
    if certificate.id != formula.id:
        blocks.append(Paragraph(["Row by row this is the number of parameters, and what is certified is that."]))
    elif placed(formula):
        blocks.append(Paragraph(["What is certified is the formula of the whole model, of which this is a share."]))
    own = {name: value for name, value in formula.conventions.items() if name in certificate.conventions}
    if certificate.id == formula.id and dict(certificate.conventions) != own:
        counted = ", ".join(f"{name}={value}" for name, value in certificate.conventions.items())
        blocks.append(Paragraph(["torch counts under ", Code(counted), "; under these the formula is certified."]))
    what = "The certified formula" if len(blocks) > 1 else "This formula"
    if certificate.compared.endswith(SHAPES):
        blocks.append(Paragraph([AXES]))
    return [*blocks, *certificate_blocks(certificate, what)]


RESTS = (
    " Every row of it is one of the first variant's, whose own certificate has more points; the class "
    "of this variant was tried at fewer."
)


def certificate_blocks(certificate: Certificate, what: str) -> list[Block]:
    """A certificate in words and as a table; ``what`` is the formula that it is of, in words."""
    author = f" ({certificate.author})" if certificate.author else ""
    libraries = ", ".join(f"{library} {number}" for library, number in certificate.versions.items())
    degree, largest = (
        Math(Label("d", "", Integer(certificate.degree))),
        Math(Label("n", "", Integer(certificate.largest))),
    )
    facts: list[tuple[str, Line]] = [
        ("Class", [Code(certificate.witness), author]),
        ("Versions", [libraries]),
        ("Compared", [certificate.compared]),
        ("Points", sentence(f"{certificate.points} random points{_places_of(certificate)}")),
        (
            "Sizes",
            ["products of numbers drawn from 1 to ", largest, f" = {certificate.largest:,}, all sizes different"],
        ),
        ("Degree", [degree, f" = {certificate.degree}"]),
        ("Bound", [Code(f"{certificate.bound:.1e}")]),
        ("Seed", [Code(str(certificate.seed))]),
        ("Digest", [Code(certificate.digest)]),
    ]
    if certificate.presets:
        named, more = list(certificate.presets)[:_LISTED], len(certificate.presets) - _LISTED
        facts.insert(4, ("Full size", [", ".join(named), *_maybe(more > 0, f", and {more} more presets")]))
    if certificate.rests:
        facts.append(("Rests on", ["the first variant, whose formula has the digest ", Code(certificate.rests)]))
    return [
        Paragraph(
            [
                f"{what} was compared with a torch model that has shapes and no memory: {certificate.compared}. "
                "Two different polynomials of degree ",
                degree,
                " agree at a random point with sizes from 1 to ",
                largest,
                " with probability at most ",
                Math(Quotient(degree.shown, largest.shown)),
                *sentence(" (Schwartz 1980 [schwartz1980], Zippel 1979 [zippel1979])"),
                ", so a formula that differs from the class would have passed with probability at most ",
                Code(f"{certificate.bound:.1e}"),
                ".",
                *_settled(certificate),
                *_maybe(certificate.rests, RESTS),
            ]
        ),
        Table([["Fact"], ["Value"]], [[[name], value] for name, value in facts], "lw"),
    ]


_DEPTHS = {name for name, each in LETTERS.items() if each.unit == "layers"}


_LISTED = 14  # presets that a page names, of those that have its formula: of an architecture there are up to a hundred
_MANY = 4  # places that are easier to read one by one than as all that some values give together


def _values(certificate: Certificate) -> dict[str, list[str]]:
    """Which values of a letter a certificate was made at, where they are not random."""
    values: dict[str, list[str]] = {}
    for place in certificate.depths:
        for name, value in re.findall(r"(\w+)=(\d+)", place):
            values.setdefault(name, [])
            values[name] += [value] if value not in values[name] else []
    return values


def _places_of(certificate: Certificate) -> str:
    """Where the points of a certificate lie, in words."""
    places, values = certificate.depths, _values(certificate)
    if places == ("",):
        return ""
    if len(places) > _MANY and len(places) == prod(len(several) for several in values.values()):
        each = "; ".join(f"{name} from {', '.join(several)}" for name, several in values.items())
        rest = {", ".join(part for part in place.split(", ") if not re.fullmatch(r"\w+=\d+", part)) for place in places}
        if len(rest) == 1:
            return f" for each choice of {each}" + (f"; where {said}" if (said := rest.pop()) else "")
    return f" at each of {'the depths ' if values.keys() <= _DEPTHS else ''}{'; '.join(places)}"


def _settled(certificate: Certificate) -> Line:
    """Why so many values of each depth, and of what else is no random size, are enough."""
    tried = {name: len(several) for name, several in _values(certificate).items()}
    if not tried:
        return ()
    lines = [Math.of(SYMBOLS[name]) for name, several in tried.items() if several == 2 and name not in _DEPTHS]
    squares = [Math.of(SYMBOLS[name]) for name, several in tried.items() if several == 3]
    return (
        " The count is affine in each depth",
        *_maybe(lines, " and in ", *listed(*([each] for each in lines))),
        *_maybe(squares, " and quadratic in ", *listed(*([each] for each in squares))),
        f", so two {'and three ' if squares else ''}values of each settle it.",
    )
