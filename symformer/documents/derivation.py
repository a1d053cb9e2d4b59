"""The derivation as a document: what is counted, each part, the model, the numbers, the check, the references."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sympy import Integer, Mul, expand

from ..account import Line as AccountLine
from ..architectures import architecture, presets, presets_of, variant
from ..certificates import Certificate, certificate_for
from ..citations import papers_of
from ..components.base import Component
from ..derivation import Chain, Section, substitution
from ..errors import RuleError
from ..formula import Formula, Ratio
from ..model import Model
from ..notation.text import number, percent
from ..notation.tree import Fraction as Quotient
from ..notation.tree import Label, tree
from ..papers import paper
from ..quantities import quantity as find_quantity
from ..quantities.elementwise import stated
from ..quantities.quantity import PLACEMENT
from ..sizes import AtMost, Differs, Divides, Equals
from ..summary import share
from ..symbols import RANK, SYMBOLS, letter
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
    Shape,
    Strong,
    Table,
)


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
    blocks += _references(model)
    measures = together or " and ".join(formula.measure.title for formula in formulas)
    return Document(
        f"{model.title}: {measures} in closed form",
        f"Derived by symformer {version}; every line is proved equal to the one before it.",
        blocks,
    )


def _lowered(block: Block) -> Block:
    return replace(block, level=block.level + 1) if isinstance(block, Heading) else block


def _chapter(model: Model, formula: Formula) -> list[Block]:
    shown = with_numbers(model)
    numbered = bool(shown.known) and set(formula.symbols) <= shown.known.keys()
    if isinstance(formula, Ratio):
        return _ratio(model, formula, shown, numbered)
    blocks: list[Block] = [*_result(formula, shown, numbered), *_counted(model, formula, shown)]
    blocks += _parts(model, formula)
    blocks += _leading(formula, shown, numbered)
    if numbered:
        blocks += _numbers(formula, shown)
    blocks += _breakdown(formula, shown, numbered)
    blocks += _presets(model, formula)
    blocks += _check(model, formula)
    return blocks


def _ratio(model: Model, formula: Ratio, shown: Model, numbered: bool) -> list[Block]:
    """Both sides as ratios are printed: what each comes to, the quotient, and that of every operation."""
    above, below = formula.above, formula.over
    quotient = Chain((_label(formula),), (Quotient(_label(above), _label(below)),))
    blocks: list[Block] = [Equation(quotient, key=True)]
    blocks += [Equation(Chain((_label(side),), (tree(side.expanded),))) for side in (above, below)]
    if numbered:
        value = number(formula.value(dict(shown.known)))
        blocks.append(Paragraph([f"For {shown.target} this is ", Strong(value), f" {formula.measure.unit}."]))
    blocks += _counted(model, formula, shown)
    for side in (above, below):
        blocks.append(Heading(1, [_capital(side.measure.title)], side.id))
        rows: list[Sequence[Line]] = [
            [[Code(row.path)], [Math.of(row.count)], [Math.of(row.each)]] for row in side.rows if row.each != 0
        ]
        blocks.append(Table([["Row"], ["Copies"], ["Each"]], rows, "lrl"))
    head: list[Line] = [["Row"], ["Each"], *([[formula.measure.unit]] if numbered else [])]
    rows = []
    for row in formula.rows:
        if row.each == 0:
            continue
        value_cell: list[Line] = [[number(formula.of_row(row, shown.known))]] if numbered else []
        rows.append([[Code(row.path)], [Math.of(row.each)], *value_cell])
    return [*blocks, Heading(1, ["Row by row"]), Table(head, rows, "llr" if numbered else "ll")]


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def with_numbers(model: Model) -> Model:
    """The model itself if it has numbers; else its first preset with these options, for the examples of a document."""
    if model.known:
        return model
    for name in presets_of(model.id):
        preset = architecture(name)
        if preset.component == model.component:
            return preset
    return model


def _label(formula: Formula) -> Label:
    return Label(formula.measure.letter, "", formula.expanded)


def _result(formula: Formula, shown: Model, numbered: bool) -> list[Block]:
    blocks: list[Block] = [Equation(Chain((_label(formula),), (tree(formula.expanded),)), key=True)]
    if numbered:
        value = formula.value(dict(shown.known))
        blocks.append(Paragraph([f"For {shown.target} this is ", Strong(f"{value:,}"), f" {formula.measure.unit}."]))
    return blocks


def _counted(model: Model, formula: Formula, shown: Model) -> list[Block]:
    question = find_quantity(formula.measure.name)
    blocks: list[Block] = [
        Heading(1, ["What is counted"]),
        Paragraph([*_about(model.component), " ", question.statement]),
    ]
    for name, value in formula.conventions.items():
        blocks.append(Paragraph([Code(f"{name}={value}"), f": {question.choices[name].meanings[value]}."]))
    if formula.conventions.get("count") == "all":
        head: list[Line] = [["Operation"], ["FLOPs an element"], ["Which are"]]
        counts: list[Sequence[Line]] = [[[name], [str(count.flops)], [count.steps]] for name, count in stated()]
        blocks.append(Table(head, counts, "lrw"))
    if model.component.chosen:
        options = ", ".join(f"{name}={value}" for name, value in model.component.chosen.items())
        blocks.append(Paragraph(["Options of the model that differ from its usual form: ", Code(options), "."]))
    rows: list[Sequence[Line]] = []
    sizes = {name for name in model.sizes if not letter(name).run} | set(formula.symbols)
    for name in sorted(sizes, key=RANK.__getitem__):
        fields = _fields(model.component, name)
        number = shown.known.get(name)
        rows.append([[Math.of(name)], [letter(name).meaning], [Code(fields)] if fields else [], _integer(number)])
    head = [["Symbol"], ["Meaning"], ["Field"], [shown.target if shown.known else "Value"]]
    blocks.append(Table(head, rows, "cllr"))
    notes: list[Line] = []
    for target, value in formula.relations.items():
        notes.append([Math(tree(target)), " = ", Math.of(value)])
    for constraint in formula.constraints:
        if isinstance(constraint, Divides):
            notes.append([Math.of(constraint.dividend), " is a multiple of ", Math.of(constraint.divisor)])
        elif isinstance(constraint, AtMost):
            notes.append([Math.of(constraint.low), " is at most ", Math.of(constraint.high)])
        elif isinstance(constraint, Differs):
            notes.append([Math.of(constraint.left), " differs from ", Math.of(constraint.right)])
        elif isinstance(constraint, Equals):
            notes.append([Math.of(constraint.size), " is ", Math.of(constraint.value)])
        else:
            notes.append([*_listed(*([Math.of(size)] for size in constraint.ones)), " are not all 1"])
    if notes:
        blocks.append(Paragraph(["The formula holds where ", *_listed(*notes), "."]))
    return blocks


def _listed(*notes: Line) -> list[Piece]:
    """Notes in a sentence: a, b and c."""
    joined: list[Piece] = []
    for index, note in enumerate(notes):
        joined += [" and " if index and index == len(notes) - 1 else ", " if index else "", *note]
    return joined


def _about(component: Component) -> list[Piece]:
    """The first paragraph of a part's docstring, its symbols as mathematics."""
    paragraph = " ".join((type(component).__doc__ or "").strip().split("\n\n")[0].split())
    pieces: list[Piece] = []
    end = 0
    for word in re.finditer(r"\b[A-Z](?:_[a-z]+)?\b(?!\.\s+[A-Z])", paragraph):
        article = word.group() == "A" and (word.start() == 0 or paragraph[word.start() - 2] == ".")
        if word.group() in SYMBOLS and not article:
            pieces += [paragraph[end : word.start()], Math.of(SYMBOLS[word.group()])]
            end = word.end()
    return [*pieces, paragraph[end:]]


def _fields(component: Component, name: object) -> str:
    fields = getattr(component, "fields", None)
    if fields and fields.layers and name in fields.layers.sizes.values():
        return str(fields.layers.name)
    place = fields.sizes.get(name) if fields else None
    return place.names[0] if place else component.places.get(str(name), "")


def _parts(model: Model, formula: Formula) -> list[Block]:
    question = find_quantity(formula.measure.name)
    sections = list(formula.derivation)
    blocks: list[Block] = [Heading(1, ["The parts"])]
    for section in sections[:-1]:
        if not section.composite and section.chain is not None:
            blocks += _part(formula, section, question.columns)
    blocks += _silent(formula)
    composites = [section for section in sections[:-1] if section.composite]
    for section in composites:
        if section.chain is None:
            continue
        count = section.line.count
        named = _title(section.line)
        blocks.append(Heading(1, [f"The {named[0].lower()}{named[1:]}"], f"{formula.id}.{section.line.key}"))
        copies: Line = (
            ["One of ", Math.of(count), " equal layers, ", Code(section.line.path), ":"]
            if count != 1
            else [Code(section.line.path), ":"]
        )
        blocks += [Paragraph(copies), Equation(section.chain)]
    whole = sections[-1]
    blocks.append(Heading(1, ["The model"], formula.id))
    if not whole.composite and whole.terms:
        blocks.append(_term_table(whole, question.columns, _capital(formula.measure.unit)))
    if whole.chain:
        blocks.append(Equation(whole.chain))
    return blocks


def _title(line: AccountLine) -> str:
    return line.part.title if line.part else line.name


def _part(formula: Formula, section: Section, columns: tuple[str, str]) -> list[Block]:
    places: list[Piece] = []
    for index, path in enumerate(section.paths):
        places += [", " if index else "", Code(path or section.line.name)]
    part = section.line.part
    blocks: list[Block] = [Heading(2, [_title(section.line)], f"{formula.id}.{section.line.key}")]
    if isinstance(part, Component):
        blocks.append(Paragraph([*places, ". ", *_about(part)]))
    blocks.append(_term_table(section, columns, _capital(formula.measure.unit)))
    if section.chain:
        blocks.append(Equation(section.chain))
    return blocks


def _term_table(section: Section, columns: tuple[str, str], unit: str) -> Table:
    rows: list[Sequence[Line]] = []
    prefix = f"{section.line.path}." if section.line.path else ""
    for _, term in section.terms:
        name = term.label.removeprefix(prefix)
        rows.append([[Code(name)], [Shape(term.factors)], [Math.of(expand(Mul(*term.factors)))]])
    return Table([[columns[0].capitalize()], [columns[1].capitalize()], [unit]], rows, "lll")


def _silent(formula: Formula) -> list[Block]:
    """The modules that add nothing, by name, and why a tied one does not."""
    names = [row.path for row in formula.rows if row.each == 0]
    if not names:
        return []
    line: list[Piece] = ["These add nothing: "]
    for index, name in enumerate(names):
        line += [", " if index else "", Code(name)]
    line.append(".")
    for _, account in formula.root.leaves():
        entry = account.entry
        if account.each == 0 and entry and entry.shared and entry.module:
            line += [" ", Code(entry.path), " reads ", Code(entry.shared[0].path)]
            line += [", which is counted where it is stored." if formula.measure.name == "params" else "."]
    return [Paragraph(line)]


def _leading(formula: Formula, shown: Model, numbered: bool) -> list[Block]:
    leading = formula.leading()
    if leading.rest == 0:
        return []
    line: list[Piece] = ["The terms that grow fastest with the model are ", Math.of(leading.expr), "."]
    if numbered:
        line += [f" They leave out {percent(leading.left_out(shown.known))} of the total for {shown.target}"]
        if other := _other_preset(shown, formula):
            line += [f", and {percent(leading.left_out(other.known))} for {other.target}"]
        line += ["."]
    return [Heading(1, ["The leading terms"]), Paragraph(line)]


def _other_preset(shown: Model, formula: Formula) -> Model | None:
    """The largest other preset of the same form; the smallest, where the one shown is the largest."""
    same = [architecture(name) for name in presets_of(shown.id)]
    same = [
        other for other in same if other.component == shown.component and set(formula.symbols) <= other.known.keys()
    ]
    same.sort(key=lambda other: formula.value(dict(other.known)))
    if len(same) < 2:
        return None
    return same[0] if same[-1].known == shown.known else same[-1]


def _numbers(formula: Formula, shown: Model) -> list[Block]:
    chain = substitution(formula.expanded, shown.known)
    return [
        Heading(1, [f"The numbers of {shown.target}"]),
        Equation(Chain((_label(formula),), chain.steps)),
    ]


def _breakdown(formula: Formula, shown: Model, numbered: bool) -> list[Block]:
    head: list[Line] = [["Row"], ["Copies"], ["Each"]]
    align = "lrl"
    if numbered:
        head += [["Total"], ["Share"]]
        align += "rr"
    total = formula.value(dict(shown.known)) if numbered else 0
    rows: list[Sequence[Line]] = []
    for row in formula.rows:
        cells: list[Line] = [[Code(row.path)], [Math.of(row.count)], [Math.of(row.each)]]
        if numbered:
            value = int(row.total.xreplace(shown.known))
            cells += [_integer(value), [percent(share(value, total))]]
        rows.append(cells)
    last: list[Line] = [["Total"], [], []]
    if numbered:
        last += [_integer(total), [percent(share(1, 1))]]
        rows.append(last)
    return [Heading(1, ["Row by row"]), Table(head, rows, align, total=numbered)]


def _presets(model: Model, formula: Formula) -> list[Block]:
    """Every preset that this formula gives the number of, and the other variants beside it."""
    blocks: list[Block] = []
    if not hasattr(model.component, "variants"):
        return blocks
    rows: list[Sequence[Line]] = []
    for name in presets_of(model.id):
        preset = architecture(name)
        if preset.component == model.component and set(formula.symbols) <= preset.known.keys():
            value = formula.value(dict(preset.known))
            rows.append([[Code(name)], _integer(value), [presets()[name]["source"]]])
    if rows:
        head: list[Line] = [["Preset"], [_capital(formula.measure.unit)], ["Sizes from"]]
        blocks += [Heading(1, ["Presets"]), Table(head, rows, "lrw")]
    shown = with_numbers(model)
    others: list[Sequence[Line]] = []
    for options in model.component.variants:
        other = variant(model, options)
        if other.component == model.component:
            continue
        sibling = other.formula(formula.measure.name, **formula.conventions)
        spelt = ", ".join(f"{name}={value}" for name, value in other.component.chosen.items()) or "the usual form"
        numbered = _with_sizes(other, sibling, shown)
        amount = [f"{sibling.value(dict(numbered.known)):,}"] if numbered else []
        if numbered and numbered.target != shown.target:
            amount.append(f" ({numbered.target})")
        others.append([[Code(spelt)], [Math.of(sibling.expanded)], amount])
    if others:
        head = [["Variant"], ["Formula"], [shown.target if shown.known else "Value"]]
        blocks += [Heading(1, ["Variants"]), Table(head, others, "lwr")]
    return blocks


def _with_sizes(variant_: Model, formula: Formula, shown: Model) -> Model | None:
    """Where a variant's example numbers come from: the model shown, or else the variant's own first preset."""
    own = [architecture(name) for name in presets_of(variant_.id)]
    candidates = [shown, *(model for model in own if model.component == variant_.component)]
    return next((model for model in candidates if set(formula.symbols) <= model.known.keys()), None)


def _integer(number: int | None) -> Line:
    return [] if number is None else [f"{number:,}"]


TRACED = (
    "This formula is read off the model's own code; nobody composed it. At {points} random configs that played no part "
    "in finding it, every row was as predicted: its module, its shape and how often it stands there. "
)
COUNTED = "Torch's own FlopCounterMode gave the same total at each."


def _check(model: Model, formula: Formula) -> list[Block]:
    blocks: list[Block] = [Heading(1, ["The check against torch"])]
    if points := model.component.answering(find_quantity(formula.measure.name), formula.conventions).checked:
        said = TRACED.format(points=points) + (COUNTED if formula.measure.unit == "FLOPs" else "")
        return [*blocks, Paragraph([said.strip()])]
    certificate = certificate_for(model, formula)
    if certificate is None and (checked := find_quantity(formula.measure.name).checked):
        return [*blocks, Paragraph([checked])]
    if certificate is None:
        return [*blocks, Paragraph([Strong("Not certified."), " No stored certificate fits this formula."])]
    if any(name in PLACEMENT for name in formula.conventions):
        blocks.append(Paragraph(["What is certified is the formula of the whole model, of which this is a share."]))
    elif dict(certificate.conventions) != dict(formula.conventions):
        counted = ", ".join(f"{name}={value}" for name, value in certificate.conventions.items())
        blocks.append(Paragraph(["torch counts under ", Code(counted), "; under these the formula is certified."]))
    return [*blocks, *certificate_blocks(certificate)]


def certificate_blocks(certificate: Certificate) -> list[Block]:
    """A certificate in words and as a table."""
    author = f" ({certificate.author})" if certificate.author else ""
    libraries = ", ".join(f"{library} {number}" for library, number in certificate.versions.items())
    depths = f" at each of the depths {'; '.join(certificate.depths)}" if certificate.depths != ("",) else ""
    degree, largest = (
        Math(Label("d", "", Integer(certificate.degree))),
        Math(Label("n", "", Integer(certificate.largest))),
    )
    facts: list[tuple[str, Line]] = [
        ("Class", [Code(certificate.witness), author]),
        ("Versions", [libraries]),
        ("Compared", [certificate.compared]),
        ("Points", [f"{certificate.points} random points{depths}"]),
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
        facts.insert(4, ("Full size", [", ".join(certificate.presets)]))
    return [
        Paragraph(
            [
                f"This formula was compared with a torch model that has shapes and no memory: {certificate.compared}. "
                "Two different polynomials of degree ",
                degree,
                " agree at a random point with sizes from 1 to ",
                largest,
                " with probability at most ",
                Math(Quotient(degree.shown, largest.shown)),
                " (Schwartz 1980, Zippel 1979), so a formula that differs from the class would have passed with "
                "probability at most ",
                Code(f"{certificate.bound:.1e}"),
                "." + _settled(certificate),
            ]
        ),
        Table([["Fact"], ["Value"]], [[[name], value] for name, value in facts], "lw"),
    ]


def _references(model: Model) -> list[Block]:
    keys = [*papers_of(model), *(() if model.component.checked else ("schwartz1980", "zippel1979"))]
    entries = [(paper(key).byline, paper(key).title, paper(key).place) for key in keys]
    return [Heading(1, ["References"]), References(entries)] if entries else []


def _settled(certificate: Certificate) -> str:
    if certificate.depths == ("",):
        return ""
    if "N_new" in certificate.depths[0]:
        return " The count is affine in each depth and quadratic in the new tokens, so two and three values settle it."
    return " The count is affine in each depth, so two values of each settle it."
