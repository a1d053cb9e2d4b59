"""A derivation as a worksheet for students: its results are left blank, with an answer key at the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sympy import Symbol

from ..components.base import Component
from ..formulas.derivation import Section
from ..formulas.formula import Formula
from ..language.errors import DocumentError
from ..language.notation.display_tree import Label
from ..language.notation.text import percent, text
from ..language.symbols import letter, print_order
from ..output.blocks import (
    Block,
    Code,
    Document,
    Equation,
    EquationNumber,
    Exercise,
    FigureBlock,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    Ref,
    References,
    Strong,
    Table,
    capital,
    listed,
    maybe,
)
from ..output.chain import Chain
from ..views.derivation_facts import DerivationFacts, QuantityFacts
from ..views.example_facts import LeadingFacts
from ..views.exercise_facts import DifferenceFacts, ExerciseFacts
from ..views.figure_facts import FigureFacts
from ..views.formula_facts import SubjectFacts, is_per_rank
from .derivation_document import HOLDS, laid_out, part_totals
from .figures.inset import illustration
from .layer_lists import in_class
from .notation import symbols_of
from .part_sections import id_of
from .part_tables import unit_of
from .references import with_references
from .subject import in_subtitle, subject_line
from .total_sentence import without_sum
from .verification import check

GIVEN = {"Symbol", "Notation", "FLOPs per element"}  # headers of tables without results
STEP = 70  # characters of a step that take one line of handwriting
FEWEST, MOST = 2, 8  # ruled lines of an exercise
BLANK = "_" * 14  # an empty cell of a table,
NARROW = "_" * 9  # and one of several in a row
COLUMNS = {2: "two", 3: "three"}  # numbers of blank columns
INTRODUCTION = (
    "Fill in the tables, and solve the exercises with the symbols of the first table. Later exercises use the results "
    "of earlier ones."
)


def worksheet(found: DerivationFacts, exercises: ExerciseFacts, version: str) -> Document:
    """Return the worksheet of a derivation.

    Parameters
    ----------
    found
        The facts of a full derivation of one quantity.
    exercises
        The facts for further questions about it.
    version
        The version of symformer, for the subtitle.

    Raises
    ------
    DocumentError
        For several quantities, for a quantity that is not a sum over parts, and for a total of 0.

    """
    quantity = _only(found)
    paper = laid_out(_without_results(found), version)
    sheet = _Worksheet(quantity, found.subject, found.figure)
    sheet.add(paper.blocks)
    sheet.blocks.append(Heading(1, ["Further questions"], "questions"))
    sheet.ask_about_numbers()
    sheet.ask_further(exercises)
    asked = [Paragraph([INTRODUCTION]), *_nonempty(sheet.blocks)]
    answers: list[Block] = [Heading(1, ["Answers"], "answers", opens_page=True), *sheet.answers]
    symbols_of([*asked, *answers])
    blocks, _ = with_references([*asked, *answers])
    return replace(
        paper,
        title=f"{paper.title}, a worksheet",
        subtitle=f"{in_subtitle(found.conventions)}Written by symformer {version}. The answers are at the end.",
        blocks=blocks,
        attached=[each for each in paper.attached if each[0] != "formulas.json"],
    )


def _only(found: DerivationFacts) -> QuantityFacts:
    """Return the quantity of a worksheet. Raises DocumentError."""
    if len(found.quantities) != 1:
        raise DocumentError(
            f"a worksheet has one quantity, but {len(found.quantities)} are given; write one worksheet per quantity"
        )
    (quantity,) = found.quantities
    formula = quantity.formula
    if not formula.additive:
        raise DocumentError(
            f"{formula.measure.name} is a {formula.form}, which is not a sum over parts; choose a sum for a worksheet, "
            "such as params or flops"
        )
    if quantity.parts is None:
        raise DocumentError("a worksheet has the steps of the full derivation; omit the short length")
    if formula.expanded == 0:
        raise DocumentError(f"{formula.id} is 0, so a worksheet has nothing to derive; choose another quantity")
    return quantity


def _without_results(found: DerivationFacts) -> DerivationFacts:
    """Return the facts without values, examples and relatives, which would state results."""
    quantities = (
        replace(each, value=None, params=None, purposes=(), rows=(), totals=(), examples=None)
        for each in found.quantities
    )
    return replace(found, quantities=tuple(quantities), relative=None)


@dataclass
class _Worksheet:
    """The blocks of a worksheet and its answers, in the order of the exercises."""

    facts: QuantityFacts
    subject: SubjectFacts
    figure: FigureFacts | None
    blocks: list[Block] = field(default_factory=list)
    answers: list[Block] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)  # the exercise of each equation, by id
    exercises: int = 0

    @property
    def formula(self) -> Formula:
        return self.facts.formula

    @property
    def counted(self) -> str:
        """The counted things, in words."""
        measure = self.formula.measure
        return measure.title if measure.unit == "elements" else measure.unit

    @property
    def _verb(self) -> str:
        return "have" if self.formula.measure.unit == "elements" else "take"

    @property
    def label(self) -> Label:
        """The label of the total."""
        return Label(self.formula.measure.letter, "", self.formula.display_expr)

    def add(self, blocks: Sequence[Block]) -> None:
        """Add the blocks of a derivation: the givens stay, and each numbered equation becomes an exercise."""
        kept = list(self._kept(blocks))
        ids = [each for block in kept for each in _equation_ids(block)]
        self.numbers = {each: number for number, each in enumerate(ids, 1)}
        sections = {id_of(each.line, self.formula): each for each in self._sections()}
        rows = 0  # of tables with a blank column, since the last heading or exercise
        for block in kept:
            match block:
                case Equation():
                    self._ask_for(block, sections.get(block.id), rows)
                    rows = 0
                case Table() if any(_equation_ids(block)):
                    self._ask_for_rows(block, sections)
                case Table() if not _is_given(block):
                    self.blocks.append(self._blanked(block, [len(block.head) - 1]))
                    rows += len(block.rows)
                case FigureBlock(id=id) if id == self.formula.id:
                    self.blocks += illustration(self.figure, filled=False) if self.figure else ()
                case Paragraph() if block.notation and self.blocks and isinstance(self.blocks[-1], Exercise):
                    self.blocks.insert(-1, block)  # the words of the table before the exercise
                case Paragraph(line=[start, *line]) if start == HOLDS:
                    self.blocks.append(Paragraph(["Assume that ", *line]))
                case _:
                    self.blocks.append(block)
                    rows *= not isinstance(block, Heading)

    def _kept(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """Yield the givens, the tables of the parts, and the numbered equations.

        The statement of the main result, the check against torch, and other tables and equations are omitted.
        """
        first_header = self.facts.parts.columns[0].capitalize() if self.facts.parts else ""
        checked = check(self.facts.check)[0]
        level: int | None = None  # of the heading of the check
        stating = False  # whether these blocks state the main result, which ends at a heading
        for block in blocks:
            if isinstance(block, Heading):
                stating = False
                if level is None or block.level <= level:
                    level = block.level if isinstance(checked, Heading) and block.line == checked.line else None
            stating |= isinstance(block, Equation) and block.key
            if level is not None or isinstance(block, References):
                continue
            match block:
                case Table() if _is_given(block):
                    yield block
                case Table() if not stating and (block.head[0] == [first_header] or any(_equation_ids(block))):
                    yield block
                case Equation(id=id) if id and not stating:
                    yield block
                case Table() | Equation():
                    pass
                case Paragraph(defines=True):  # of symbols, which the parts use, too
                    yield block
                case Paragraph() if not stating:
                    yield without_sum(block)  # which has no number
                case _ if not stating:
                    yield block

    def _sections(self) -> Sequence[Section]:
        return self.facts.parts.steps.sections if self.facts.parts else ()

    def _exercises(self, line: Line) -> list[Piece]:
        """Return a line with references to exercises in place of those to equations."""
        several = sum(isinstance(piece, Ref) for piece in line) > 1
        found: list[Piece] = []
        for piece in line:
            if isinstance(piece, Ref):
                first = not any(isinstance(other, Ref) for other in line[: len(found)])
                found.append(f"{('exercises ' if several else 'exercise ') * first}{self.numbers[piece.id]}")
            else:
                found.append(piece)
        return found

    def _ask_for(self, equation: Equation, section: Section | None, rows: int) -> None:
        """Return the exercise on the total of a part, after tables with this number of rows."""
        question: list[Piece] = [f"How many {self.counted} {self._whose(section)}? "]
        if rows:
            question.append(f"Fill in the last column of the table{', and add up its rows' * (rows > 1)}. ")
        for reason in equation.reasons:
            if reason:
                first, *rest = self._exercises(reason)
                question += ["Use ", *maybe(first != "by ", str(first).removeprefix("by ")), *rest, ". "]
        labels = [piece for label in equation.chain.labels for piece in (" = ", Math(label))][1:]
        self._ask([*question, "Find ", *labels, "."], _lines(equation.chain), shown=replace(equation, key=False))

    def _ask_for_rows(self, table: Table, sections: Mapping[str, Section]) -> None:
        """Return the exercise on the totals of a table in which each row has an equation."""
        ids = list(_equation_ids(table))
        results = [place for place, cell in enumerate(table.head) if cell == [capital(unit_of(self.formula))]]
        rows = []
        for row in table.rows:
            cells = [self._unsolved(cell) if place in results else list(cell) for place, cell in enumerate(row)]
            rows.append([[self._numbered(piece) for piece in cell] for cell in cells])
        head = [*table.head[:-1], ["Exercise"]]
        self.blocks.append(replace(table, head=head, rows=rows))
        chains = [sections[each].chain for each in ids]
        first, last = self.exercises + 1, self.exercises + len(ids)
        several = f" {first}" if first == last else f"s {first} {'and' if last == first + 1 else 'to'} {last}"
        question = f" How many {self.counted} {self._whose(None if len(ids) > 1 else sections[ids[0]], 'each part')}? "
        question += "Fill in the table."
        self.blocks.append(Exercise([Strong(f"Exercise{several}."), question], 0))
        for each, chain in zip(ids, chains, strict=True):
            self.exercises += 1
            self.answers.append(Paragraph([Strong(f"Exercise {self.exercises}"), ":"]))
            self.answers += [Equation(chain, id=each, reasons=self._relations(chain))] if chain is not None else []

    def _unsolved(self, cell: Line) -> list[Piece]:
        """Return the labels of an equation in a cell, followed by a blank."""
        *labels, _ = cell
        return [*labels, NARROW]

    def _numbered(self, piece: Piece) -> Piece:
        return str(self.numbers[piece.id]) if isinstance(piece, EquationNumber) else piece

    def _relations(self, chain: Chain) -> list[Line]:
        """Return the relations between sizes that each step of a part without subparts substitutes."""
        found: list[Line] = []
        for reason in chain.reasons:
            used: list[Line] = [
                [Math.of(size), " = ", Math.of(self.formula.relations[size])]
                for size in reason
                if isinstance(size, Symbol)
            ]
            found.append(["by ", *listed(*used)] if used else [])
        return found

    def _whose(self, section: Section | None, several: str = "") -> str:
        """Return the end of a question about the total of a part."""
        verb = self._verb
        on = " on one rank" if is_per_rank(self.formula) else ""
        if section is None and several:
            return f"does {several} {verb}{on}"
        if section is None or section.line is self.formula.root:
            return f"are there in total{on}"
        line = section.line
        if line.is_common:
            return f"do the parts that all of these layers share {verb}{on}"
        title = line.part.title if isinstance(line.part, Component) else ""
        if line.is_kind or (not title and line.path.endswith("*")):
            return f"does one of these layers {verb}{on}"
        shown = f"{title[0].lower()}{title[1:]}" if title[:2].istitle() else title
        if len(section.lines) > 1:
            return f"does each {shown or 'of these modules'} {verb}{on}"
        does = "do" if _PLURAL.match(title) else "does"
        return f"{does} {'the ' * bool(shown)}{shown or 'this module'} {verb}{on}"

    def _blanked(self, table: Table, columns: Iterable[int]) -> Table:
        """Return a table with empty columns, and references to exercises in the others."""
        empty = set(columns)
        blank = BLANK if len(empty) == 1 else NARROW
        rows = [
            [self._emptied(cell, blank) if place in empty else self._exercises(cell) for place, cell in enumerate(row)]
            for row in table.rows
        ]
        return replace(table, rows=rows)

    def _emptied(self, cell: Line, blank: str) -> list[Piece]:
        """Return a blank for a cell, with the exercise that its value is from, if any."""
        used = [piece for piece in cell if isinstance(piece, Ref)]
        return [blank, *maybe(used, " by ", *self._exercises(used))]

    def _ask(self, question: Line, ruled: int, answer: Line = (), shown: Equation | Table | None = None) -> None:
        """Add a numbered exercise with room for the solution, and its answer in words or as a block."""
        self.exercises += 1
        name = f"Exercise {self.exercises}"
        self.blocks.append(Exercise([Strong(f"{name}."), " ", *question], ruled))
        self.answers.append(Paragraph([Strong(name), *([": ", *answer] if answer else [":"])]))
        self.answers += [shown] if shown else []

    def ask_about_numbers(self) -> None:
        """Return the exercises on the value, and on the value and the share of each part."""
        facts, formula = self.facts, self.formula
        steps = facts.examples.substitution if facts.examples else None
        if facts.value is None or steps is None:
            return
        whose = subject_line(self.subject, formula)
        self._ask(
            ["Compute ", Math(self.label), " for ", *whose, ". Use the values in the table of symbols."],
            _lines(steps),
            shown=Equation(Chain((self.label,), steps.steps)),
        )
        if len(facts.totals) < 2:
            return
        table = part_totals(formula, facts.value, facts.totals)
        blank = range(2, len(table.head))
        self.blocks.append(self._blanked(table, blank))
        question: list[Piece] = [f"How many {self.counted} do all copies of each part {self._verb} in ", *whose, "? "]
        question.append(f"Fill in the last {COLUMNS[len(blank)]} columns of the table.")
        self._ask(question, 0, shown=replace(table, caption=()))
        self._ask([f"Which part contributes the most {self.counted}?"], FEWEST, self._largest())

    def _largest(self) -> Line:
        """Return the parts with the largest total, and that total."""
        most = max(each.value for each in self.facts.totals if each.value is not None)
        largest = [each for each in self.facts.totals if each.value == most]
        said = f"{', each' * (len(largest) > 1)} with {most:,} {self.counted}"
        share = f", {percent(largest[0].share)} of the total." if largest[0].share is not None else "."
        return [*listed(*in_class([each.name for each in largest], self.formula)), said, share]

    def ask_further(self, found: ExerciseFacts) -> None:
        """Ask about the leading terms, growth, another preset, and an untied head."""
        if self.facts.examples and self.facts.examples.leading:
            self._ask_for_leading(self.facts.examples.leading)
        if found.doubled is not None:
            size, growth = found.doubled
            self._ask(
                [
                    "By how much does ",
                    Math(self.label),
                    " grow if ",
                    Math.of(size),
                    " doubles and no other size changes, as a formula and for ",
                    *subject_line(self.subject, self.formula),
                    "?",
                ],
                FEWEST,
                ["By ", *self._amount(growth), "."],
            )
        if found.preset is not None:
            sizes: list[Line] = [[Math.of(size), f" = {number:,}"] for size, number in found.preset.sizes.items()]
            steps = found.preset.substitution
            self._ask(
                [Code(found.preset.name), " has ", *listed(*sizes), ". Compute ", Math(self.label), "."],
                _lines(steps),
                shown=Equation(Chain((self.label,), steps.steps)),
            )
        if found.untied is not None:
            self._ask(
                [
                    "The LM head and the token embedding share one matrix. By how much does ",
                    Math(self.label),
                    " change if the LM head has a matrix of its own, as a formula and for ",
                    *subject_line(self.subject, self.formula),
                    "?",
                ],
                FEWEST,
                ["By ", *self._amount(found.untied), "."],
            )

    def _ask_for_leading(self, found: LeadingFacts) -> None:
        sizes = self.formula.display_expr.free_symbols
        held = sorted((size for size in sizes if not letter(size).growth), key=print_order)
        but = maybe(held, " except ", *listed(*([Math.of(size)] for size in held)))
        question: list[Piece] = ["All sizes", *but, " grow by the same large factor. Which terms of "]
        question += [Math(self.label), " dominate?"]
        answer: list[Piece] = [Math.of(found.expr), "."]
        if found.omitted is not None and found.omitted >= 0:
            question += [
                " What share of the total do the other terms have for ",
                *subject_line(self.subject, self.formula),
                "?",
            ]
            answer.append(f" The other terms are {percent(found.omitted)} of the total.")
        self._ask(question, FEWEST, answer)

    def _amount(self, found: DifferenceFacts) -> Line:
        shown = Math.of(found.expr)
        number = f" = {found.value:,}" if found.value is not None and found.expr.free_symbols else ""
        return [shown, f"{number} {self.counted}"]


_PLURAL = re.compile(r".*(embedding|feature|position)s\b")


def _equation_ids(block: Block) -> Iterator[str]:
    """Yield the ids of the equations of a block: its own, or those in the rows of a table."""
    if isinstance(block, Equation):
        yield block.id
    if isinstance(block, Table):
        pieces = (piece for row in block.rows for cell in row for piece in cell)
        yield from (piece.id for piece in pieces if isinstance(piece, EquationNumber))


def _is_given(block: Block) -> bool:
    """Return True for a table of symbols, of notation or of the cost of operations, which states no result."""
    return isinstance(block, Table) and any(cell[0] in GIVEN for cell in block.head if cell)


def _lines(chain: Chain) -> int:
    """Return the number of lines that a solution with these steps takes."""
    taken = sum(1 + len(text(step)) // STEP for step in chain.steps)
    return min(max(taken, FEWEST), MOST)


def _nonempty(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks without headings that have nothing below them."""
    kept: list[Block] = []
    for block in reversed(blocks):
        below = kept[-1] if kept else None
        if isinstance(block, Heading) and (
            below is None or (isinstance(below, Heading) and below.level <= block.level)
        ):
            continue
        kept.append(block)
    return kept[::-1]
