"""A survey: several models in one document, with shared letters, tables, formulas, plots and differences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from sympy import Expr, Symbol

from ..algebra.compare import compare
from ..algebra.compared_model import ComparedModel
from ..algebra.token_costs import cost_per_token, divisor_of
from ..formulas.formula import Formula
from ..language.errors import UNSUPPORTED, SizeError, SymformerError, joined
from ..language.notation.display_tree import Label
from ..language.symbols import B, C, S, print_order
from ..models.model import Model
from ..output.blocks import (
    Block,
    Code,
    Document,
    Equation,
    FigureBlock,
    FloatSentence,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    Ref,
    Table,
    capital,
    listed,
    maybe,
    with_sentence,
)
from ..output.chain import Chain
from ..papers import paper
from ..quantities import quantity as find_quantity
from ..views.formula_facts import CheckFacts, check_of, conditions_of
from .comparison_document import about_side
from .figures.inset import UNCOUNTED, aligned_figures, comparison_figure
from .model_table import ModelTable, model_letter
from .named_parts import SharedNames, definitions
from .references import with_references
from .survey_plots import curves, explanations, limits
from .survey_tables import structure_tables, symbol_tables
from .verification import short_checks

USUAL = ("params", "active-params", "flops", "kv-cache")  # the quantities of a survey, unless others are given
LENGTHS = tuple(2**power for power in range(11, 5, -1))  # from 2,048 to 64 tokens, tried if no length is given
FIGURES = 12  # a survey of more models has no figures


def with_lengths(
    models: Sequence[Model], quantities: Sequence[str], conventions: Sequence[Mapping[str, str]]
) -> list[Model]:
    """Return the models with a length for each cost that needs one, and one sequence for totals that need a number.

    The length is the largest of LENGTHS with the most values. A size that is set, in any of the models, is kept.
    """
    needed = {size for name in quantities for size in divisor_of(name).free_symbols} & {S, C}
    needed |= {C} if "decode-flops" in quantities else set()
    totals = [name for name in quantities if divisor_of(name) == 1]
    for model, own in zip(models, conventions, strict=True):
        needed |= _sizes_of(model, totals, own) & {B, S, C}
        for formula in _formulas(model, [name for name in quantities if name not in totals], own):
            with suppress(*UNSUPPORTED):
                needed |= cost_per_token(formula).free_symbols & {B}
    free = [size for size in (B, S, C) if size in needed and not any(size in model.known for model in models)]
    tried = [[_at(model, quantities, own, free, length) for model, own in zip(models, conventions, strict=True)]
             for length in LENGTHS]  # fmt: skip
    return max(tried, key=lambda sized: _values(_table(sized, quantities, conventions)))


def _table(models: Sequence[Model], quantities: Sequence[str], conventions: Sequence[Mapping[str, str]]) -> ModelTable:
    return ModelTable.of(models, quantities, conventions, per_token=True, totals=True)


def _at(
    model: Model, quantities: Sequence[str], conventions: Mapping[str, str], free: Sequence[Symbol], length: int
) -> Model:
    """Return a model with one sequence and with the free lengths that one of the quantities depends on."""
    taken = _sizes_of(model, quantities, conventions)
    return model.set({size: 1 if size == B else length for size in free if size in taken})


def _sizes_of(model: Model, quantities: Sequence[str], conventions: Mapping[str, str]) -> set[Symbol]:
    """Return the sizes that the quantities of a model depend on."""
    found: set[Symbol] = set()
    for formula in _formulas(model, quantities, conventions):
        found |= formula.dependencies | formula.defining_sizes
    return found


def _formulas(model: Model, quantities: Sequence[str], conventions: Mapping[str, str]) -> Iterator[Formula]:
    """Yield the formula of each quantity that a model has."""
    for name in quantities:
        known = find_quantity(name).choices
        with suppress(*UNSUPPORTED):
            yield model.formula(name, **{key: value for key, value in conventions.items() if key in known})


def _values(found: ModelTable) -> int:
    return sum(cell.value is not None for row in found.cells for cell in row)


def survey(
    models: Sequence[Model],
    quantities: Sequence[str],
    version: str,
    conventions: Sequence[Mapping[str, str]],
    form: str = "full",
) -> Document:
    """Return a survey of models.

    Parameters
    ----------
    models
        The models, with their sizes.
    quantities
        The quantities. Costs that have a number of tokens are stated per token, and others as a whole.
    version
        The version of symformer, for the subtitle.
    conventions
        The conventions of each model.
    form
        "full", or "short" for the tables and formulas only.

    Raises
    ------
    SizeError
        If no quantity has a value for any of the models.

    """
    models = with_lengths(models, quantities, conventions)
    found = replace(_table(models, quantities, conventions), lettered=True)
    if not _values(found):
        reasons = dict.fromkeys(cell.reason for row in found.cells for cell in row)
        raise SizeError(f"no quantity has a value for any of the models ({'; '.join(reasons)}); give sizes with --set")
    places, equations = _equations(found)
    notes = [Paragraph(note) for note in found.notes()]
    totals = _totals(found, places)
    result: list[Block] = [Heading(1, ["Totals"]), Paragraph(_mentions([totals], "list", "the results.")), totals]
    structures = structure_tables(models, found.names)
    about: list[Block] = [Heading(1, ["The models"]), *_about(found)]
    told: list[Block] = [Heading(1, ["Definitions and conventions"]), *notes] if notes else []
    rest: list[Block] = [*_against_length(found), *_differences(found)] if form == "full" else []
    letters = symbol_tables(models, found.names, [*result, *about, *structures, *told, *equations, *rest])
    compared = _mentions(structures, "compare", "the structures of the models.")
    symbols = _mentions(letters, "list", "the symbols.")
    tables: list[Block] = [Paragraph([*compared, *maybe(compared and symbols, " "), *symbols]), *structures, *letters]
    blocks: list[Block] = [*result, *about, *tables, *told, *equations, *rest]
    blocks, keys = with_references(blocks)
    files = [("survey.json", json.dumps(found.to_json(), indent=1, ensure_ascii=False) + "\n")]
    if keys:
        files.append(("references.bib", "\n\n".join(paper(key).bibtex() for key in keys) + "\n"))
    titles = [found.column_name(name) for name in found.quantities]
    return Document(
        f"A survey of {joined(found.names)}",
        f"Computed by symformer {version} from closed forms. Totals are computed exactly and rounded for display.",
        blocks,
        ["transformer", *dict.fromkeys(model.title for model in models), *titles],
        files,
    )


def _about(found: ModelTable) -> list[Block]:
    """Return a paragraph on each model: its architecture and the source of its sizes; then the checks against torch."""
    said: list[Block] = []
    checks: list[tuple[str, CheckFacts]] = []
    for number, (model, name, row) in enumerate(zip(found.models, found.names, found.cells, strict=True), 1):
        formula = next((cell.formula for cell in row if cell.formula is not None), None)
        if formula is not None:
            said.append(about_side(ComparedModel(number, model, formula, {}), model_letter(number), checked=False))
            checks.append((name, check_of(model, formula)))
    return [*said, *map(Paragraph, short_checks(checks))]


def _equations(found: ModelTable) -> tuple[dict[tuple[int, str], str], list[Block]]:
    """Return the formula of each quantity of each model, and the id of each equation by model and quantity.

    Models with the same formula share an equation. If a formula of a model equals one of a quantity above, as active
    parameters without experts equal the parameters, it is not repeated.
    """
    places: dict[tuple[int, str], str] = {}
    blocks: list[Block] = []
    ids: set[str] = set()
    names = SharedNames()
    several = False  # whether an equation is of several models
    for name, column in zip(found.quantities, zip(*found.cells, strict=True), strict=True):
        same: dict[str, list[Line]] = {}
        groups: dict[object, list[int]] = {}
        for number, cell in enumerate(column):
            formula = cell.formula
            if formula is None or not formula.additive:
                continue
            before = next((q for q in found.quantities if _equal(found, number, q, formula)), name)
            if before == name:
                groups.setdefault((formula.measure, formula.display_expr), []).append(number)
            else:
                places[number, name] = places[number, before]
                same.setdefault(before, []).append([Code(found.names[number])])
        lines: list[Block] = []
        for numbers in groups.values():
            formula = column[numbers[0]].formula
            assert formula is not None  # noqa: S101 (a group has formulas only)
            id_ = formula.id if formula.id not in ids else f"{formula.id}.{numbers[0] + 1}"
            ids.add(id_)
            index = ", ".join(model_letter(number + 1) for number in numbers)
            several = several or len(numbers) > 1
            label = Label(formula.measure.letter, index, formula.expanded)
            chain = Chain((label,), (names.short(formula.display_expr),))
            chain.prove(formula.relations)
            places |= {(number, name): id_ for number in numbers}
            lines.append(Equation(chain, id=id_))
        title = capital(found.column_name(name).removesuffix(" per token"))
        said = [
            Paragraph(
                [f"The {found.column_name(name)} of ", *listed(*names), f" equal the {found.column_name(other)}."]
            )
            for other, names in same.items()
        ]
        if lines or said:
            blocks += [Heading(2, [title]), *said, *lines]
    shown = [*_indices(found, several), *definitions(names.parts), *blocks]
    return places, [Heading(1, ["Formulas"]), *shown] if blocks else []


def _indices(found: ModelTable, several: bool) -> list[Paragraph]:
    """Return the meaning of the indices of totals, and the relations that the formulas of each model use."""
    named: list[Line] = [[f"({model_letter(number)}) ", Code(name)] for number, name in enumerate(found.names, 1)]
    meaning: list[Piece] = ["The index of a total is the letter of its model: ", *listed(*named), "."]
    meaning += [" A size has the same letter in every model, with its own value."]
    meaning += maybe(several, " An equation with several indices holds for each of these models.")
    owners: dict[tuple[tuple[Symbol, Expr], ...], list[Line]] = {}
    for name, model, row in zip(found.names, found.models, found.cells, strict=True):
        related: dict[Symbol, Expr] = {}
        for cell in row:
            if cell.formula is not None:
                sums = cell.formula.totals
                related |= {
                    size: value
                    for size, value in conditions_of(model, cell.formula).relations.items()
                    if size not in sums
                }
        if related:
            owners.setdefault(tuple(sorted(related.items(), key=lambda each: print_order(each[0]))), []).append(
                [Code(name)]
            )
    said: list[Paragraph] = []
    for used, names in owners.items():
        equal: list[Line] = [[Math.of(size), " = ", Math.of(value)] for size, value in used]
        said.append(Paragraph(["The formulas of ", *listed(*names), " use ", *listed(*equal), "."]))
    return [Paragraph(meaning), *said]


def _equal(found: ModelTable, number: int, quantity: str, formula: Formula) -> bool:
    """Return True if a model's formula of a quantity is the same as one of another in the same unit."""
    other = found.cells[number][found.quantities.index(quantity)].formula
    return other is not None and other.measure.unit == formula.measure.unit and other.expanded == formula.expanded


def _totals(found: ModelTable, places: Mapping[tuple[int, str], str]) -> Table:
    """Return the table of totals, in which each value has the number of its equation."""
    table = found.as_table()
    first = len(table.head) - len(found.quantities)
    rows = []
    for number, row in enumerate(table.rows):
        cells = list(row)
        for at, name in enumerate(found.quantities):
            if found.cells[number][at].value is not None and (number, name) in places:
                cells[first + at] = [*cells[first + at], " ", Ref(places[number, name])]
        rows.append(cells)
    caption = (
        [*table.caption, " Numbers in parentheses refer to the equations of the totals."] if places else table.caption
    )
    return replace(table, rows=rows, caption=caption, id="survey.totals")


def _mentions(floats: Sequence[Table] | Sequence[FigureBlock], verb: str, words: str) -> list[FloatSentence]:
    """Return one sentence about all of some tables or figures; nothing without them."""
    if not floats:
        return []
    first, *further = [each.mention(f"{verb}{'s' * (len(floats) == 1)} {words}") for each in floats]
    return [replace(first, further=tuple(further))]


def _against_length(found: ModelTable) -> list[Block]:
    """Return the costs against lengths, as tables and as plots."""
    drawn = curves(found)
    if not drawn:
        return []
    shown: list[Block] = []
    told = list[Piece]()
    for each in drawn:
        tables, figures = each.tables(), each.figures()
        told += [*maybe(told, " "), *_mentions(tables, "state", f"the {each.title}.")]
        if figures:
            told += [" ", *_mentions(figures, "show", f"them against the {each.meaning}.")]
        shown += [*tables, *figures]
    said = [*map(Paragraph, ([*told, *limits(drawn)], *explanations(found)))]
    return [Heading(1, ["Costs against length"]), *said, *shown]


def _differences(found: ModelTable) -> list[Block]:
    """Return how each other model differs from the first: in sentences, and side by side.

    Models of the same class with the same options as one above have its structure.
    """
    first = found.models[0]
    blocks: list[Block] = []
    alike: dict[object, list[Line]] = {_kind(first): [[Code(found.names[0])]]}
    for name, other in zip(found.names[1:], found.models[1:], strict=True):
        named = alike.setdefault(_kind(other), [])
        named.append([Code(name)])
        if len(named) > 1:
            continue
        blocks.append(Heading(2, [Code(name), " and ", Code(found.names[0])]))
        try:
            structure = compare(other, first).structure
        except SymformerError as error:
            reason, *_ = str(error).split("; ")
            blocks.append(Paragraph([f"The structures are not compared: {reason}."]))
            continue
        if structure.same:
            one, two = structure.names
            blocks.append(Paragraph([f"{one} has the structure of {two}: {structure.same_line}."]))
        blocks += map(Paragraph, structure.paragraphs(terms=None))
    equal: list[Block] = [
        Paragraph([*listed(*named), " have the same structure; only sizes can differ."])
        for named in alike.values()
        if len(named) > 1
    ]
    figures = _figures(found)
    columns = len({*map(_kind, found.models)}) != 2  # the caption of a pair states the common parts
    for said in _mentions(figures, "show", f"the structures side by side.{f' {UNCOUNTED}' * columns}"):
        equal = with_sentence(equal, said)
    blocks = [*equal, *figures, *blocks]
    return [Heading(1, ["Differences from ", Code(found.names[0])]), *blocks] if blocks else []


def _figures(found: ModelTable) -> list[FigureBlock]:
    """Return two models side by side with their formulas, or more in narrow columns; one model of each structure."""
    distinct = {_kind(model): number for number, model in reversed([*enumerate(found.models)])}
    numbers = sorted(distinct.values())
    models = [found.models[number] for number in numbers]
    if len(models) > FIGURES:
        return []
    formulas = [model.params for model in models]
    if len(models) == 2:
        return comparison_figure(models, formulas)
    return aligned_figures(models, formulas, [found.names[number] for number in numbers])


def _kind(model: Model) -> object:
    """Return the class of a model and its options, which determine its structure."""
    return type(model.component), tuple(model.component.changed_options.items()), model.id
