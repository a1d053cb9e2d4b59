"""Parts with a single matrix and a computation of one line, such as norms, embeddings and heads, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..formulas.account import Measure
from ..formulas.derivation import Section
from ..formulas.formula import Formula
from ..language.notation.display_tree import TensorName
from ..output.blocks import (
    Block,
    Code,
    Computation,
    EquationNumber,
    Line,
    Math,
    Piece,
    Strong,
    Table,
    capital,
    maybe,
)
from .formats.page_layout import extent
from .part_tables import shape_of, term_label, unit_of

MOST_WEIGHTS, MOST_TERMS = 4, 2  # of a simple part: its weights, or the terms of another quantity
LONGEST = 24  # characters of a cell in one line


@dataclass(frozen=True)
class SimplePart:
    """A row of the table."""

    section: Section
    title: Line
    where: Line  # its places and its description
    id: str  # of its equation
    computation: Computation | None  # None in a chapter without computations
    operations: Line = ()  # of a traced model, as far as they are recognized


def is_simple(section: Section, does: Sequence[Block], formula: Formula) -> bool:
    """Return whether a part has a row in the table of simple parts instead of a section of its own.

    Parameters
    ----------
    section
        The section of the part.
    does
        The blocks of its computations; empty if none is shown.
    formula
        The formula of the chapter.

    """
    line = section.line
    if section.composite or section.chain is None or line.among is not None or line.path.endswith("*"):
        return False
    weights = [each for below in line.lines if below.entry for each in (*below.entry.weights, *below.entry.shared)]
    matrices = {each.path for each in weights if len([size for size in each.shape if size != 1]) > 1}
    single = not does or (len(does) == 1 and isinstance(does[0], Computation) and len(does[0].lines) == 1)
    most = MOST_WEIGHTS if formula.measure.unit == "elements" else MOST_TERMS
    return single and len(matrices) < 2 and len(section.terms) <= most


def simple_table(parts: Sequence[SimplePart], columns: tuple[str, str], formula: Formula) -> Table:
    """Return the table of the simple parts, in which each row has the number of an equation."""
    computed = any(part.computation for part in parts)
    listed = any(part.operations for part in parts)
    head: list[Line] = [["Part"], *([["Output"]] if computed else [["Operations"]] if listed else [])]
    shapes = [] if computed and formula.measure.unit == "elements" else [[columns[0].capitalize()]]  # else in y and N
    head += [*shapes, [capital(unit_of(formula))], ["Equation"]]
    rows: list[Sequence[Line]] = []
    for part in parts:
        between: list[Line] = [output_of(part.computation)] if computed else [part.operations] if listed else []
        terms = [_terms(part.section, formula.measure)] if shapes else []
        number: Line = [EquationNumber(part.id)]
        rows.append([[*_name(part), *part.where], *between, *terms, _total(part.section), number])
    longest = [max(map(extent, column)) for column in zip(*rows, strict=True)]
    own = ["w" if length > LONGEST and not (computed and place == 1) else "l" for place, length in enumerate(longest)]
    align = "w" + "".join(own[1:-1]) + "r"
    caption: Line = [f"{capital(unit_of(formula))} of the simple parts."]
    return Table(
        head, rows, align, caption=caption, computations=[each.computation for each in parts if each.computation]
    )


def _name(part: SimplePart) -> list[Piece]:
    first, *others = part.title
    return [Strong(first) if isinstance(first, str) else first, *others, ". "]


def output_of(computation: Computation | None) -> Line:
    """Return the output of a simple part in one line."""
    if computation is None:
        return []
    (line,) = computation.lines
    name: Line = [] if line.name == TensorName("y") else [Math(line.name), " = "]
    return [*name, Math(line.shown)]


def _terms(section: Section, measure: Measure) -> Line:
    """Return the shapes of a part's terms, with their names if there are several."""
    found: list[Piece] = []
    for place, (line, term) in enumerate(section.terms):
        found += maybe(place, ", ")
        found += [*maybe(len(section.terms) > 1, Code(term_label(section, line, term)), " "), shape_of(term, measure)]
    return found


def _total(section: Section) -> Line:
    """Return the equation of a part: its labels and its last form."""
    if section.chain is None:
        return []
    found: list[Piece] = []
    for label in section.chain.labels:
        found += [Math(label), " = "]
    return [*found, Math(section.chain.steps[-1])]


def without_colon(line: Line) -> list[Piece]:
    """Return the end of a line that introduces a computation as the end of a sentence."""
    last = line[-1] if line else ""
    return [*line[:-1], last.removesuffix(":") + "." if isinstance(last, str) and last.endswith(":") else last]
