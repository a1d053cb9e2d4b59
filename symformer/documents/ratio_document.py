"""The quotient of two quantities as a document: definitions, and a section with the result for each model."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..algebra.quantity_ratio import QuantityRatio
from ..algebra.quotient_blocks import PAGE
from ..language.errors import joined
from ..output.blocks import Block, Code, Document, Heading, Line, Paragraph, Piece, capital, listed, setting
from ..quantities import quantity as find_quantity
from ..views.formula_facts import SubjectFacts, conditions_of, subject_of
from .condition_text import conditions
from .references import with_references
from .sentences import sentence
from .subject import subject_line


def document(found: Sequence[QuantityRatio], version: str) -> Document:
    """Return the quotient of two quantities as a document, with one section per model."""
    first = found[0]
    titles = [each.measure.title for each in (first.numerator, first.denominator)]
    said: list[Block] = [Heading(1, ["Definitions"]), *_counted(first)]
    for place, each in enumerate(found, 1):
        said += _section(each, f"{each.numerator.id}.over" + f".{place}" * (len(found) > 1))
    said, _ = with_references(said)
    names = [each.model.name + (f" ({each.part})" if each.part else "") for each in found]
    told = [each.to_json() | {"target": name} for each, name in zip(found, names, strict=True)]
    return Document(
        f"{joined(names)}: {titles[0]} over {titles[1]}",
        f"Computed by symformer {version} from closed forms; every total is exact.",
        said,
        ["transformer", *dict.fromkeys(each.model.title for each in found), *titles],
        [("quotient.json", json.dumps(told, indent=1, ensure_ascii=False) + "\n")],
    )


def _counted(found: QuantityRatio) -> list[Block]:
    """Return the definitions of numerator and denominator."""
    said: list[Block] = []
    for where, formula in (("numerator", found.numerator), ("denominator", found.denominator)):
        question = find_quantity(formula.measure.name)
        line: list[Piece] = [
            f"{capital(formula.measure.title)} ({where}). ",
            *sentence(question.statement_for(formula)),
        ]
        said.append(Paragraph(line))
    return said


def _section(found: QuantityRatio, id: str) -> list[Block]:
    """Return the section of one model: its conventions, the result, the conditions and the symbols."""
    subject = subject_of(found.model)
    said: list[Block] = [
        Heading(1, [Code(subject.name)]),
        Paragraph([*_counting(found, subject), "."]),
        *map(Paragraph, found.rank_lines()),
        *found.result(id, PAGE),
    ]
    if notes := list(dict.fromkeys([*map(tuple, conditions(conditions_of(found.model, found.numerator)))])):
        said.append(Paragraph(["It holds if ", *listed(*notes), "."]))
    return [*said, *found.symbol_table(said)]


def _counting(found: QuantityRatio, subject: SubjectFacts) -> Line:
    """Return the model and the conventions of both sides."""
    notes = [[setting(name, choice)] for name, choice in found.conventions.items()]
    part: list[Piece] = ["One ", Code(found.part), " of "] if found.part else []
    return [*part, *subject_line(subject, found.numerator), *([", counted with ", *listed(*notes)] if notes else [])]
