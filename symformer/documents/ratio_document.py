"""The quotient of two quantities as a document: formula, number and limits for each model."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sympy import Rational

from ..algebra.quantity_ratio import QuantityRatio
from ..formulas.derivation import Chain
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.notation.display_tree import Label, sizes_of, tree, value
from ..language.symbols import RANK, letter
from ..language.target import name_of
from ..papers import paper
from ..quantities import quantity as find_quantity
from ..views.formula_facts import conditions_of, ranks_of, subject_of
from . import blocks
from .blocks import Block, Code, Document, Equation, Heading, Line, Math, Paragraph, Piece, References, Table
from .condition_text import conditions
from .limit_text import bracketed, exactly, growing
from .sentences import capital, listed, maybe, sentence
from .subject import Subject, of_one_rank


def document(found: Sequence[QuantityRatio], version: str) -> Document:
    """Return the quotient of two quantities as a document, with one section per model."""
    first = found[0]
    titles = [each.measure.title for each in (first.above, first.below)]
    said: list[Block] = [Heading(1, ["Definitions"]), *_counted(first)]
    for place, each in enumerate(found, 1):
        said += _section(each, f"{each.above.id}.over" + f".{place}" * (len(found) > 1))
    said, keys = blocks.numbered(said)
    if keys:
        entries = [(key, paper(key).byline, paper(key).title, paper(key).place) for key in keys]
        said += [Heading(1, ["References"]), References(entries)]
    names = [name_of(each.model.target) + (f" ({each.part})" if each.part else "") for each in found]
    told = [each.to_json() | {"target": name} for each, name in zip(found, names, strict=True)]
    return Document(
        f"{' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}: {titles[0]} over {titles[1]}",
        f"Computed by symformer {version} from closed forms; every number is exact.",
        said,
        ["transformer", *dict.fromkeys(each.model.title for each in found), *titles],
        [("quotient.json", json.dumps(told, indent=1, ensure_ascii=False) + "\n")],
    )


def _counted(found: QuantityRatio) -> list[Block]:
    """Return the definitions of numerator and denominator."""
    said: list[Block] = []
    for where, formula in (("numerator", found.above), ("denominator", found.below)):
        question = find_quantity(formula.measure.name)
        line: list[Piece] = [f"{capital(formula.measure.title)} ({where}). ", *sentence(question.states(formula))]
        said.append(Paragraph(line))
    return said


def _section(found: QuantityRatio, id: str) -> list[Block]:
    """Return the section of one model."""
    subject = Subject(subject_of(found.model, found.above))
    labels = [Label(each.measure.letter, "", each.expanded) for each in (found.above, found.below)]
    exact, shown = found.value, bracketed(found.ratio)
    said: list[Block] = [Heading(1, [Code(subject.name)]), Paragraph([*_counting(found, subject), "."])]
    said += [Paragraph(each) for each in _ranks(found)]
    line: list[Piece] = []
    if shown is not None or exact is not None:
        step = shown or tree(Rational(exact.numerator, exact.denominator) if exact is not None else 0)
        said.append(Equation(Chain((Quotient(*labels),), (step,)), key=True, id=id))
    if exact is not None and shown is not None and value(shown).free_symbols:
        line += [f"With these sizes, it is {exactly(exact)} {found.unit}."]
    leading = bracketed(found.leading)
    if leading is not None and found.leading != found.ratio:
        line += [*maybe(line, " "), "The ratio of the leading terms is ", Math(leading), "."]
    said += [Paragraph(line)] if line else []
    said += growing(found.limits, found.model.known, "quotient")
    used = {size for each in blocks.formulas_in(said) for size in sizes_of(each)}
    if notes := list(dict.fromkeys([*map(tuple, conditions(conditions_of(found.model, found.above)))])):
        said.append(Paragraph(["It holds if ", *listed(*notes), "."]))
        used |= {size for each in blocks.formulas_in(said) for size in sizes_of(each)}
    known = found.model.known
    rows: list[Sequence[Line]] = [
        [[Math.of(size)], [letter(size).meaning], [f"{known[size]:,}"] if size in known else []]
        for size in sorted(used, key=RANK.__getitem__)
    ]
    return [*said, Table([["Symbol"], ["Meaning"], ["Value"]], rows, "clr", caption=["Symbols."])]


def _ranks(found: QuantityRatio) -> list[Line]:
    """Return the number of ranks of each side, once if both sides have the same ranks."""
    above, below = (of_one_rank(ranks_of(each, found.model.known)) for each in (found.above, found.below))
    if found.above.ranks == found.below.ranks:
        return [above] if above else []
    sides = ((found.above, above), (found.below, below))
    return [[f"{capital(each.measure.title)}: ", *line] for each, line in sides if line]


def _counting(found: QuantityRatio, subject: Subject) -> Line:
    """Return the model and the conventions of both sides."""
    conventions = {**found.below.conventions, **found.above.conventions}
    notes = [[Code(f"{name}={choice}")] for name, choice in conventions.items()]
    part: list[Piece] = ["One ", Code(found.part), " of "] if found.part else []
    return [*part, *subject.line, *([", counted with ", *listed(*notes)] if notes else [])]
