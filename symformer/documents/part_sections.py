"""The parts of a model in a chapter, from the model to its layers and its parts, and then the sum of their totals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sympy import Symbol

from ..components.base import Component
from ..formulas.account import Line as AccountLine
from ..formulas.derivation import Reason, Section
from ..formulas.formula import Formula
from ..language.symbols import letter
from ..ledger.facts import Ledger, Scope
from ..ledger.layer_kinds import mixtures
from ..output.blocks import (
    Block,
    Code,
    Computation,
    Equation,
    FigureBlock,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    Ref,
    listed,
    maybe,
    with_sentence,
)
from ..output.chain import Chain
from ..views.derivation_facts import PartFacts
from ..views.figure_facts import FigureFacts
from ..views.formula_facts import is_per_rank
from ..views.module_names import is_layer_list
from .figures.detail import detail
from .layer_lists import class_path, in_class
from .layer_order_text import layer_order
from .legend import introduced
from .operation_totals import operation_totals
from .part_computations import INTO, PartComputations, about_part, computed
from .part_places import COLON, named, place_lines, title_of, word_of
from .part_tables import bytes_per_parameter, copied_heads, parts_table, purpose_table, term_table
from .sentences import sentence
from .simple_parts import SimplePart, is_simple, simple_table, without_colon
from .total_sentence import total_sentence
from .traced_run import TracedRun, without_run

PARTS = Heading(1, ["The parts"])
COMMON = "Parts common to all layers"
ADDED = " is the total of the parts that all of these layers have. The total of each kind of layer adds its own parts."
RANKS = (
    "Sizes, computations and shapes of activations, also in figures, are for all ranks together, and the matrices in "
    "computations are whole; shapes of weights and all amounts are for the share of one rank."
)
COMPUTES = "shows the computation."  # after the number of a figure
STORED = "Shapes of matrices are output × input, even if the class stores the transpose."


@dataclass(frozen=True)
class ChapterParts:
    """The blocks of a chapter on the model and its parts."""

    opening: Sequence[Block] = ()  # the heading of the model and its description; a figure can follow
    model: Sequence[Block] = ()  # its computation, and its total in terms of its parts
    rest: Sequence[Block] = ()  # its layers, its parts, and the sum of their totals
    simple: Sequence[SimplePart] = ()  # the parts that share a table
    layers: Sequence[Section] = ()  # the layers, and the parts that contain layers

    @property
    def blocks(self) -> list[Block]:
        """All blocks in order."""
        return [*self.opening, *self.model, *self.rest]


def parts(found: PartFacts, formula: Formula, first: bool = True, figure: FigureFacts | None = None) -> ChapterParts:
    """Return a chapter's parts; only the ``first`` chapter says what each part is and computes.

    With the facts of a ``figure`` of the model, the main parts have figures of their inside.
    """
    builder = _Builder(found, formula, first, figure)
    return builder.chapter()


@dataclass
class _Builder:
    """The sections of one chapter."""

    found: PartFacts
    formula: Formula
    first: bool
    figure: FigureFacts | None = None

    def __post_init__(self) -> None:
        found, formula = self.found, self.formula
        self.sections: Sequence[Section] = [each for each in found.steps.sections if each.chain is not None]
        self.whole = found.steps.sections[-1]
        every = found.steps.sections
        own = self.first and found.run is None
        self.computes = PartComputations(every, found.ledger, formula) if own else None
        self.traced = _traced(found.run, every, formula) if self.first and found.run is not None else None
        ordered = not is_per_rank(formula) and self.first
        self.orders = layer_order(found.ledger, found.layers, found.known) if ordered else {}
        below = [each for each in self.sections if each is not self.whole]
        self.structural = [each for each in below if each.composite and _has_layers(each.line)]
        others = [each for each in below if each not in self.structural]
        order = {line.key: place for place, line in enumerate(formula.root.walk())}
        self.structural_down = sorted(self.structural, key=lambda each: order[each.line.key])
        written = [self.whole, *self.structural_down, *others]
        self.does = {id(each): computed(self.computes, each, formula) for each in written}
        known = [each for each in others if self.traced is None or self.traced.is_recognized(each.line)]
        simple = [each for each in known if is_simple(each, self.does[id(each)], formula)]
        self.small = simple if len(simple) > 1 else []  # a table of one row would only change the order of the parts
        self.ideas = [each for each in others if each not in self.small]
        printed = [*self.small, *self.ideas, *self.structural, self.whole]
        self.places = {line.key: id_of(each.line, formula) for each in printed for line in each.lines}
        self.copies = {line.key: count.xreplace(formula.display_relations) for count, line in formula.root.counted()}

    def chapter(self) -> ChapterParts:
        """Return the blocks, with distinct names of weights and modules, and words explained at their first use."""
        named = "The model" if self.found.is_model else "The whole"
        opening: list[Block] = [Heading(1, [named], self.formula.id)]
        about = about_part(self.formula.root, self.formula) if self.first else []
        opening += [Paragraph(about)] if about else []
        opening += without_run(self.found.run_refusal) if self.first and self.found.run_refusal else []
        opening += self.traced.introduction() if self.traced else []
        small = [self._simple(each) for each in self.small]
        computations = [each.computation for each in small if each.computation]
        groups = [opening, self._model(), self._layers(), self._heading_of_parts(), self._parts(), self._totals()]
        opening, model, layers, heading, own, totals, drawn = self._named([*groups, [*computations]])
        spelt = iter(drawn)
        small = [replace(each, computation=_next(spelt)) if each.computation else each for each in small]
        table: list[Block] = [simple_table(small, self.found.columns, self.formula)] if small else []
        known: set[str] = set()
        model = introduced(model, known)
        rest = introduced([*layers, *heading, *table, *own], known)
        if not model and len(opening) == 1:  # the whole contributes nothing
            opening = []
        return ChapterParts(opening, model, [*rest, *totals], small, self.structural)

    def _named(self, groups: Sequence[Sequence[Block]]) -> list[list[Block]]:
        """Return groups of blocks with distinct names of weights and modules."""
        if self.computes is None:
            return [[*group] for group in groups]
        blocks = iter(self.computes.names.applied([block for group in groups for block in group]))
        return [[next(blocks) for _ in group] for group in groups]

    def _model(self) -> list[Block]:
        """Return the computation of the model and its total in terms of its parts; for a single part, its equation."""
        section = self.whole
        blocks: list[Block] = []
        if self.computes and is_per_rank(self.formula):
            blocks.append(Paragraph([RANKS]))
        blocks += [*self._computed(section), *(self.traced.blocks(section.line) if self.traced else ()), *self._kinds()]
        common = {each.line.path for each in self.structural if each.line.is_common}
        blocks += [Paragraph(order) for path, order in self.orders.items() if path not in common]
        if section.chain is None:
            return blocks
        if section.composite:
            summed = _in_parts(section.chain)
            said = total_sentence(section.chain.labels[0], follows=bool(summed))
            return [*blocks, *said, *summed, *operation_totals(section, self.formula)]
        blocks += bytes_per_parameter([section], self.formula)
        blocks += [term_table(section, self.found.columns, self.formula)] if section.terms else []
        return [*blocks, self._equation(section, section.chain)]

    def _kinds(self) -> list[Block]:
        """Return a sentence on the names of the kinds of layers of each list, which the class does not have."""
        if self.computes is None:
            return []
        named = any(each.line.is_kind for each in self.structural)
        blocks: list[Block] = []
        for mixture, kinds in mixtures(self.found.ledger.apart).items():
            titles = [getattr(kind.part, "title", "") for kind in kinds]
            names = [
                _kind_name(kind, self._box(kind, title) if len({*titles}) > 1 else [])
                for kind, title in zip(kinds, titles, strict=True)
            ]
            if len(names) > 1 and (named or mixture.order == "kind by kind"):
                several: Line = ["The list ", Code(mixture.path.removesuffix(".*")), " has several kinds of layers"]
                blocks.append(Paragraph([*several, ", here called ", *listed(*names), "."]))
        return blocks

    def _box(self, kind: Scope, title: str) -> Line:
        """Return the title of the boxes of a kind of layers, with their name if other boxes have this title."""
        others = [each for each in self.found.ledger.apart.root.walk() if each.mixture != kind.mixture]
        shared = any(getattr(each.part, "title", "") == title for each in others)
        name = kind.mixture.name.removesuffix(".*") if kind.mixture and shared else ""
        return [title, *maybe(name, ", ", Code(name), ",")] if title else []

    def _layers(self) -> list[Block]:
        """Return the sections of the layers, and of the parts that contain them."""
        blocks: list[Block] = [Heading(1, ["The layers"])] if len(self.structural) > 1 else []
        for section in self.structural_down:
            blocks += self._layer(section, 2 if blocks else 1)
        return blocks

    def _layer(self, section: Section, level: int) -> list[Block]:
        """Return the places of a layer, its computation, and its total in terms of its parts."""
        blocks: list[Block] = [self._heading(level, section)]
        does, located = self._computed(section), place_lines(section, self.formula, self.computes)
        if does and section.line.is_kind and section.common is None:  # all but the table is about the whole layer
            blocks += [Paragraph(["Each of these layers computes:"]), *does, *located]
        else:
            blocks += [*located, *does, *(self.traced.blocks(section.line) if self.traced else ())]
        if section.line.is_common and section.chain:  # only the first chapter states the order
            adding = self._is_added(section)
            said: list[Piece] = [Math(section.chain.labels[0]), ADDED] if adding else []
            said += [*maybe(adding, " "), *self.orders.get(section.line.path, [])]
            blocks += [Paragraph(said)] if said else []
        blocks += _in_parts(section.chain) if section.chain else []
        return [*blocks, *operation_totals(section, self.formula)]

    def _is_added(self, section: Section) -> bool:
        """Return whether the totals of some kinds of layers add their own parts to the total of this section."""
        return section.line.is_common and any(each.common is section.line for each in self.sections)

    def _heading_of_parts(self) -> list[Block]:
        """Return the heading before the table of simple parts, and sentences on all tables of parts."""
        others = [each for each in self.sections if each is not self.whole]
        if not others:
            return []
        transposed = [Paragraph([STORED])] if self.first and self.formula.measure.name == "params" else []
        return [PARTS, *transposed, *bytes_per_parameter(self.sections, self.formula), *copied_heads(self.sections)]

    def _parts(self) -> list[Block]:
        """Return the sections of the parts that are not simple."""
        blocks: list[Block] = []
        known: set[str] = set()
        for section in self.ideas:
            part = section.line.part
            purpose = part.purpose if self.computes and isinstance(part, Component) else ""
            opening: list[Block] = [Paragraph(sentence(purpose))] if purpose and purpose not in known else []
            known.add(purpose)
            drawn = self._detail(section)
            if drawn is not None and opening:
                opening = with_sentence(opening, drawn.mention(COMPUTES))
            located = place_lines(section, self.formula, self.computes)
            blocks += [self._heading(2, section), *opening, *_located(located, self._computed(section))]
            blocks += self.traced.blocks(section.line) if self.traced else ()
            if drawn is not None:
                blocks += [drawn] if opening else [Paragraph([drawn.mention(COMPUTES)]), drawn]
            blocks += [*operation_totals(section, self.formula), *self._derived(section)]
        return [*blocks, *_silent(self.formula)]

    def _detail(self, section: Section) -> FigureBlock | None:
        """Return the figure of the inside of a part, if it is the first with attention, experts or a mixer."""
        name = in_class([section.line.path], self.formula)[0] if section.line.path else ()
        return detail(self.figure, section.line.key, name) if self.figure else None

    def _derived(self, section: Section) -> list[Block]:
        """Return the tables of a part and its equation."""
        if section.chain is None:
            return []
        blocks: list[Block] = []
        if section.composite and section.terms:
            blocks.append(parts_table(section, self.found.columns, self.formula, self.places))
            blocks += purpose_table(self.computes, section, self.formula)
        elif not section.composite:
            blocks.append(term_table(section, self.found.columns, self.formula))
        return [*blocks, self._equation(section, section.chain)]

    def _totals(self) -> list[Block]:
        """Return the totals of the layers and of the model, by the totals of their parts."""
        if not self.whole.composite or self.whole.chain is None:
            return []
        blocks: list[Block] = [Heading(1, ["The total"])]
        for section in self.structural:
            title = [COMMON, *self._apart(section)] if self._is_added(section) else self._title(section)
            blocks += [Paragraph([*title, ":"]), *self._derived(section)]
        named = "The model" if self.found.is_model else "The whole"
        blocks += [Paragraph([f"{named}:"])] if self.structural else []
        return [*blocks, self._equation(self.whole, self.whole.chain)]

    def _computed(self, section: Section) -> list[Block]:
        return self.does[id(section)]

    def _simple(self, section: Section) -> SimplePart:
        lines = [block.line for block in place_lines(section, self.formula, self.computes)]
        where: list[Piece] = []
        for line in lines:
            where += [*maybe(where, " "), *without_colon(line)]
        computations = [block for block in self._computed(section) if isinstance(block, Computation)]
        computation = computations[0] if computations else None
        operations = self.traced.operations(section.line) if self.traced else []
        title = [title_of(section, self.formula)]
        apart = self._apart(section)
        title += apart if any(isinstance(piece, Math) for piece in apart) else []  # the path distinguishes others
        return SimplePart(section, title, where, id_of(section.line, self.formula), computation, operations)

    def _heading(self, level: int, section: Section) -> Heading:
        return Heading(level, self._title(section), f"{self.formula.id}.{section.line.key}")

    def _title(self, section: Section) -> list[Piece]:
        return [title_of(section, self.formula), *self._apart(section)]

    def _apart(self, section: Section) -> Line:
        """Return what distinguishes a part from others with the same title: its name, its path or its key.

        If these are equal in the class, the kind of its layers or the number of its copies distinguishes it.
        """
        line, title = section.line, title_of(section, self.formula)
        below = [each for each in self.sections if each is not self.whole]
        alike = [other.line for other in below if title_of(other, self.formula) == title]
        names = (word_of(line), line.path.removesuffix(".*"))
        others = ([word_of(each) for each in alike], [each.path.removesuffix(".*") for each in alike])
        own = next((name for name, every in zip(names, others, strict=True) if every.count(name) == 1), "")
        if not own and len({self.copies[each.key] for each in alike}) == len(alike):  # as in blocks of several widths
            copies = self.copies[line.key]
            return [", ", Math.of(copies), " copy" if copies == 1 else " copies"]
        return maybe(len(alike) > 1, ", ", *in_class([own or line.key], self.formula)[0])

    def _equation(self, section: Section, chain: Chain) -> Equation:
        """Return the equation of a part with the reason for each step."""
        reasons = [_reason(reason, self.formula, self.places) for reason in chain.reasons]
        return Equation(chain, id=id_of(section.line, self.formula), reasons=reasons)


def _kind_name(kind: Scope, box: Line) -> Line:
    """Return the name of a kind of layers, with the meaning of the size that counts them and the title of its boxes."""
    meaning = letter(kind.count).meaning if isinstance(kind.count, Symbol) else ""
    said: list[Piece] = [meaning] if meaning.startswith("layers ") else []
    said += [*maybe(said, "; "), *box, " in figures"] if box else []
    return [Code(kind.name.removesuffix(".*")), *maybe(said, " (", *said, ")")]


def _next(found: Iterator[Block]) -> Computation | None:
    block = next(found)
    return block if isinstance(block, Computation) else None


def _has_layers(line: AccountLine) -> bool:
    """Return whether a part is a layer of a list or contains such layers, which themselves consist of parts."""
    return any(_is_layer(each) for each in line.parts() if any(below.entry is None for below in each.lines))


def _is_layer(line: AccountLine) -> bool:
    if not line.path.endswith(".*"):
        return line.is_kind or line.is_common
    if isinstance(line.part, Component):
        return line.part.role != "other"  # such as one of several projectors
    return is_layer_list(line.path.split(".")[-2])


def _located(where: Sequence[Paragraph], does: Sequence[Block]) -> list[Block]:
    """Return the places of a part and its computations; a description of all places follows the only place."""
    (*_, ending), *more = [paragraph.line for paragraph in where]
    match does:
        case [Paragraph(line=described), *rest] if not more and ending == COLON and described[0] not in INTO:
            return [Paragraph([*where[0].line[:-1], ". ", *described]), *rest]
    return [*where, *does]


def _in_parts(chain: Chain) -> list[Block]:
    """Return the first step of a total, in terms of the totals of the parts, if further steps follow."""
    return [Equation(Chain(chain.labels, chain.steps[:1]))] if len(chain.steps) > 1 else []


def _traced(run: Ledger, sections: Sequence[Section], formula: Formula) -> TracedRun:
    """Return the operations of a traced model by section."""
    shown = {line.key for section in sections for line in section.lines}
    counted = ((count.xreplace(formula.relations), line) for count, line in formula.root.counted())
    return TracedRun.of([(count, line) for count, line in counted if line.key in shown], run)


def _reason(reason: Reason, formula: Formula, places: Mapping[str, str]) -> Line:
    relations: list[Line] = [
        [Math.of(size), " = ", Math.of(formula.relations[size])] for size in reason if isinstance(size, Symbol)
    ]
    parts = dict.fromkeys(places[line.key] for line in reason if isinstance(line, AccountLine))
    every = list(dict.fromkeys(places.values()))
    runs: list[list[str]] = []
    for each in sorted(parts, key=every.index):
        if runs and every.index(each) == every.index(runs[-1][-1]) + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    said = relations
    for run in runs:
        said += [[Ref(run[0]), " to ", Ref(run[-1])]] if len(run) > 2 else [[Ref(each)] for each in run]
    return ["by ", *listed(*said)] if said else []


def id_of(line: AccountLine, formula: Formula) -> str:
    """Return the id of the equation of a part."""
    return f"{formula.id}.sum" if line is formula.root else f"{formula.id}.{line.key}"


def _silent(formula: Formula) -> list[Block]:
    """Return a paragraph on the modules and parameters that contribute nothing, and why a tied module does not."""
    counting = [line.path for line in formula.root.walk() if line.each != 0]
    entries = [(line, line.entry) for _, line in formula.root.leaves() if line.entry]
    read = {weight.path for line, entry in entries if line.each != 0 for weight in entry.shared}
    parameters = {entry.path for _, entry in entries if entry.is_parameter}
    names = [
        row.path
        for row in formula.rows
        if row.each == 0 and not any(path == row.path or path.startswith(f"{row.path}.") for path in counting)
    ]
    names = [*{class_path(name, formula): name for name in reversed(names)}.values()][::-1]
    line: list[Piece] = []
    for noun, some in (
        ("module", [name for name in names if name not in parameters]),
        ("parameter", [name for name in names if name in parameters - read]),
    ):
        if some:
            nouns, verb = (f"{noun}s", "contribute") if len(some) > 1 else (noun, "contributes")
            which = listed(*([named(name, formula)] for name in some))
            line += [*maybe(line, " "), f"The {nouns} ", *which, f" {verb} nothing."]
    if not line:
        return []
    for said in tied_modules(formula):
        line += [" ", *said]
    return [Paragraph(line)]


def tied_modules(formula: Formula) -> Iterator[Line]:
    """Yield a sentence on each module that contributes nothing, because it uses the weight of another module."""
    for _, account in formula.root.leaves():
        entry = account.entry
        if account.each == 0 and entry and entry.shared and entry.module:
            end = ", which is counted where it is stored." if formula.measure.name == "params" else "."
            yield [Code(entry.path), " uses ", Code(entry.shared[0].path), end]
