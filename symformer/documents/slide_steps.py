"""The steps of a lecture on one quantity of a model, in order: the model, its layers, its parts, their sum, the number.

Each step has the blocks of the derivation's section on the same part, and the figure as far as it is derived.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sympy import Symbol, expand

from ..components.base import Component
from ..formulas.account import Line as AccountLine
from ..formulas.derivation import Reason, Section
from ..formulas.formula import Formula
from ..formulas.structured_form import structured
from ..language.notation.text import percent
from ..output.blocks import (
    Block,
    Cited,
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
    Table,
    capital,
    listed,
    maybe,
)
from ..output.chain import Chain
from ..views.derivation_facts import AmountFacts, QuantityFacts
from .figures.figure import Box, Figure, Frame
from .figures.growing_figure import DerivedParts, growing_drawing, order_drawing, whole_drawing, without_formulas
from .figures.operation_labels import role
from .figures.share_bars import MOST, ShareBar, share_bars
from .figures.text_width import Ruler
from .formats.slide_layout import FULL
from .layer_lists import class_path, in_class
from .legend import BASIS
from .part_sections import id_of, parts, tied_modules
from .part_tables import parts_table
from .simple_parts import output_of
from .total_sentence import with_named_sizes

TRIVIAL = ("embeddings", "norms", "head")  # roles of parts that share a slide
FEW = 2  # terms of a part without a role that shares it
SHAPES = 3  # weights of a part that are listed in the table of simple parts
BROAD = 740.0  # points: the width of a chart


@dataclass(frozen=True)
class Step:
    """A step before its blocks are divided among slides."""

    title: Line
    blocks: Sequence[Block]
    parts: DerivedParts | None = None  # the progress that its figure shows; None without a figure
    paths: Line = ()
    notes: Sequence[Block] = ()


class GrowingFigure:
    """The figure of a model at each step of its derivation."""

    def __init__(self, figure: Figure | None, details: Sequence[Figure], formula: Formula) -> None:
        self.figure, self.details, self.formula = figure, details, formula
        self.ruler = Ruler()
        self._drawn: dict[DerivedParts, FigureBlock | None] = {}

    def unlabelled(self) -> GrowingFigure:
        """Return the figure without formulas, for a quantity other than the one that it counts."""
        return GrowingFigure(None if self.figure is None else without_formulas(self.figure), (), self.formula)

    def at(self, parts: DerivedParts) -> FigureBlock | None:
        """Return the figure at a step; None if there is none or it does not fit next to the text."""
        if self.figure is None:
            return None
        if parts not in self._drawn:
            drawing = growing_drawing(self.figure, parts, self.ruler)
            self._drawn[parts] = None if drawing is None else FigureBlock(lambda page, ruler=None: drawing)
        return self._drawn[parts]

    def whole(self) -> FigureBlock | None:
        """Return the figure on a slide of its own."""
        drawing = None if self.figure is None else whole_drawing(self.figure, self.details, self.ruler)
        return None if drawing is None else FigureBlock(lambda page, ruler=None: drawing)

    @property
    def reading(self) -> str:
        """How to read the figure on a slide of its own."""
        arrows = self.figure is not None and self.figure.graph.arrows
        order = "from bottom to top" if arrows else "in the order of the code"
        return f"{order}, each part with the {self.formula.measure.title} of one copy"

    def order(self) -> FigureBlock | None:
        """Return the order of layers of several kinds on a slide of its own; None if there are none."""
        drawing = None if self.figure is None else order_drawing(self.figure, self.ruler)
        return None if drawing is None else FigureBlock(lambda page, ruler=None: drawing)

    def keys_of(self, lines: Sequence[AccountLine]) -> frozenset[str]:
        """Return the keys of the nodes that a part is drawn as, by its ids, or else by its paths in the class."""
        if self.figure is None:
            return frozenset()
        nodes = [node for graph in self.figure.graph.graphs() for node in graph.nodes]
        found: set[str] = set()
        for line in lines:
            path = f"{class_path(line.path, self.formula)}."
            own = {node.key for node in nodes if f"{node.key}.".startswith(f"{line.key}.")}
            found |= own or {node.key for node in nodes if isinstance(node, Box) and self._has_path(node, path)}
        return frozenset(found)

    def _has_path(self, box: Box, path: str) -> bool:
        """Return True if all operations of a box are inside a part, whatever the kind of its layers."""
        inside = [f"{class_path(each, self.formula)}.".startswith(path) for each in box.paths]
        return path != "." and any(inside) and all(inside)

    def frames_of(self, lines: Sequence[AccountLine]) -> frozenset[str]:
        """Return the keys of the frames around the layers of a part."""
        if self.figure is None:
            return frozenset()
        keys = {line.key for line in lines}
        frames = (node for graph in self.figure.graph.graphs() for node in graph.nodes if isinstance(node, Frame))
        return frozenset(frame.key for frame in frames if frame.key in keys)

    def empty_keys(self) -> frozenset[str]:
        """Return the keys of the parts that contribute nothing, such as a tied head."""
        boxes = self.figure.graph.boxes() if self.figure is not None else ()
        return frozenset(box.key for box in boxes if box.amount.shown == 0)

    def every_key(self) -> frozenset[str]:
        """Return the keys of all nodes."""
        graphs = self.figure.graph.graphs() if self.figure is not None else ()
        return frozenset(node.key for graph in graphs for node in graph.nodes)


class QuantitySteps:
    """The steps of one quantity; only the ``first`` quantity says what each part is and computes."""

    def __init__(self, found: QuantityFacts, figure: GrowingFigure, first: bool) -> None:
        if found.parts is None:
            raise TypeError("a ratio has no parts")
        self.found, self.formula, self.first = found, found.formula, first
        self.figure = figure
        self.columns = found.parts.columns
        sections = found.parts.steps.sections
        self.whole = sections[-1]
        self.sections = [each for each in sections[:-1] if each.chain is not None]
        chapter = parts(found.parts, found.formula, first)
        self.chunks = _chunks(with_named_sizes(chapter.blocks, structured(found.formula.display_expr).parts))
        self.simple = {id(part.section): part for part in chapter.simple}
        self.layers = {id(section) for section in chapter.layers}
        self.owner = {id(line): section for section in sections for line in section.lines}
        self.above: dict[int, Section] = {}
        for line in found.formula.root.parts():
            for below in line.lines:
                if id(line) in self.owner:
                    self.above[id(below)] = self.owner[id(line)]
        self.simple_sections = [each for each in self.sections if self._is_simple(each)]
        self.places = {line.key: id_of(section.line, self.formula) for section in sections for line in section.lines}
        self.unnumbered = {id_of(section.line, self.formula) for section in self.simple_sections}
        self.done: frozenset[str] = frozenset()

    def steps(self) -> Iterator[Step]:
        """Yield the steps from the model to its total."""
        layers = [section for section in self.sections if self._is_structural(section)]
        order = {id(line): place for place, line in enumerate(self.formula.root.parts())}
        yield from self._introduced(self.whole)
        for section in sorted(layers, key=lambda each: order.get(id(each.line), 0)):
            yield from self._introduced(section)
        self.done |= self.figure.empty_keys() if self.first else frozenset()
        if self.simple_sections:
            yield self._simple_parts()
        inside = {id(self.whole), *map(id, layers)}
        for section in self.sections:
            above = self.above.get(id(section.line))
            if id(section) not in inside and (above is None or id(above) in inside):
                yield from self._derived(section)
        for section in layers:
            yield from self._summed(section)
        yield from self._summed(self.whole)

    # -- kinds of sections -------------------------------------------------------------------------------------------

    def _is_simple(self, section: Section) -> bool:
        """Return True for a part without an idea of its own, such as a norm."""
        if section.composite:
            return False
        if id(section) in self.simple:
            return True
        own = getattr(section.line.part, "role", "")
        return own in TRIVIAL or (own in ("", "other") and len(section.terms) <= FEW)

    def _is_structural(self, section: Section) -> bool:
        """Return True for layers, and for a part that contains layers."""
        return id(section) in self.layers

    def _title(self, section: Section) -> Line:
        """Return the title of a section: the one in the derivation, or the title of its part."""
        for block in self.chunks.get(self._id(section), ()):
            if isinstance(block, Heading):
                return block.line
        part = section.line.part
        if isinstance(part, Component):
            return [part.title]
        return [Code(class_path(section.line.path, self.formula) or section.line.name)]

    def _id(self, section: Section) -> str:
        return self.formula.id if section is self.whole else f"{self.formula.id}.{section.line.key}"

    def _blocks(self, section: Section) -> tuple[list[Block], list[Table]]:
        """Return the paragraphs and computations of a section without explanations of words, and its tables."""
        said: list[Block] = []
        tables: list[Table] = []
        for block in self.chunks.get(self._id(section), ()):
            if isinstance(block, Equation):
                break
            if isinstance(block, Table):
                tables.append(block)
            elif isinstance(block, Computation) or (isinstance(block, Paragraph) and not is_explanation(block)):
                said.append(block)
        if self._is_structural(section) and section.terms:
            tables = [parts_table(section, self.columns, self.formula, self.places)]
        rows = [[[self._cell(cell) for cell in row] for row in table.rows] for table in tables]
        return said, [replace(table, rows=own, caption=()) for table, own in zip(tables, rows, strict=True)]

    def _definitions(self, section: Section) -> list[Block]:
        """Return what follows the sum of the parts of a section by name: the totals of operations outside the parts."""
        chunk = self.chunks.get(self._id(section), [])
        after = next((place for place, block in enumerate(chunk) if isinstance(block, Equation)), len(chunk))
        return [block for block in chunk[after + 1 :] if isinstance(block, Paragraph) and block.defines]

    def _cell(self, cell: Line) -> Line:
        """Return a cell of a table without a reference to the equation of a simple part, which no slide has."""
        known = not any(isinstance(piece, Ref) and piece.id in self.unnumbered for piece in cell)
        return cell if known else [piece for piece in cell if not isinstance(piece, Ref) and piece != " by "]

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _step(
        self,
        title: Line,
        blocks: Sequence[Block],
        current: frozenset[str] = frozenset(),
        focus: frozenset[str] = frozenset(),
        paths: Line = (),
    ) -> Step:
        return Step(title, blocks, DerivedParts(self.done, current, focus), paths)

    def _introduced(self, section: Section) -> Iterator[Step]:
        """Yield the step with the computation of a model or a layer, and the sum of its parts by name."""
        said, tables = self._blocks(section)
        chain = section.chain
        if chain is None:
            yield self._step(self._title(section), [*said, Paragraph([f"The {self.formula.measure.title} are 0."])])
            return
        alone = len(chain.steps) == 1 or not section.composite
        first = chain if alone else self._prefix(chain, 1)
        blocks = [*said, *(tables if alone else ()), self._equation(section, first, last=alone)]
        blocks += self._definitions(section)
        focus = frozenset() if section is self.whole else self.figure.keys_of(section.lines)
        yield self._step(self._title(section), blocks, focus=focus)
        if alone:
            self.done |= self.figure.every_key() if section is self.whole else self.figure.keys_of(section.lines)

    def _summed(self, section: Section, current: frozenset[str] = frozenset()) -> Iterator[Step]:
        """Yield a step with the weights of a sum, if it has any, and one for each further line of the sum."""
        chain = section.chain
        if chain is None or not section.composite or len(chain.steps) == 1:
            return
        _, tables = self._blocks(section)
        focus = frozenset() if section is self.whole else self.figure.keys_of(section.lines)
        own = self.figure.keys_of([line for line in section.line.lines if line.entry is not None and line.path])
        if tables and self._has_terms(section):
            counted: Line = [*self._title(section), f": {self.formula.measure.title}"]
            blocks: list[Block] = [tables[0], self._equation(section, self._prefix(chain, 1), False)]
            yield self._step(counted, blocks, current or own, focus)
        self.done |= own
        for count in range(2, len(chain.steps) + 1):
            last = count == len(chain.steps)
            reason = chain.reasons[count - 1] if count <= len(chain.reasons) else ()
            if last:
                self.done |= self.figure.every_key() if section is self.whole else self.figure.frames_of(section.lines)
            title = [*self._title(section), f": {_action(reason)}"]
            further = tables[1:] if last else ()
            equation = self._equation(section, self._prefix(chain, count), last)
            if not FULL.has_room(equation):  # the lines before are on the slides before
                newest = Chain(chain.labels, chain.steps[count - 1 : count], chain.reasons[count - 1 : count])
                equation = self._equation(section, newest, last)
            blocks = [equation, *further]
            yield self._step(title, blocks, current, focus)

    def _has_terms(self, section: Section) -> bool:
        """Return True if a sum has weights of its own, next to its parts."""
        return any(line.entry is not None and line.each != 0 for line in section.line.lines)

    def _derived(self, section: Section) -> Iterator[Step]:
        """Yield the steps of a part and of the parts inside it."""
        if section in self.simple_sections:
            return
        current = self.figure.keys_of(section.lines) - self.done  # without norms that a class has inside attention
        title, (said, tables) = self._title(section), self._blocks(section)
        if not section.composite:
            blocks: list[Block] = [*tables]
            if section.chain is not None:
                blocks.append(self._equation(section, section.chain, last=True))
            paths = in_class(section.paths, self.formula) if any(section.paths) else []
            where = paths[0] if len(paths) == 1 and len(paths[0]) == 1 and paths[0][0] not in title else []
            if said and self.first:  # further quantities would repeat where the part is
                yield self._step(title, said, current, paths=where)
            counted: Line = [*title, f": {self.formula.measure.title}"]
            yield self._step(counted, blocks, current, paths=where)
            self.done |= current
            return
        chain = section.chain
        sums: list[Block] = []
        if chain is not None and not (tables and self._has_terms(section) and len(chain.steps) > 1):
            sums.append(self._equation(section, self._prefix(chain, 1), last=len(chain.steps) == 1))
        if said or sums:
            yield self._step(title, [*said, *sums], current)
        for each in self.sections:
            if self.above.get(id(each.line)) is section:
                yield from self._derived(each)
        yield from self._summed(section, current)
        self.done |= current

    def _simple_parts(self) -> Step:
        """Return the step of the parts that share one table."""
        computed = {key: part.computation for key, part in self.simple.items() if part.computation and self.first}
        shaped = not computed or self.formula.measure.unit != "elements"  # else the output has the shapes
        head: list[Line] = [["Part"], *([["Output"]] if computed else [])]
        head += [*([[capital(self.columns[1])]] if shaped else []), ["Each"]]
        rows: list[Sequence[Line]] = []
        for section in self.simple_sections:
            if section.chain is None:
                continue
            self.done |= self.figure.keys_of(section.lines)
            terms = [term for _, term in section.terms]
            shapes = listed(*([Math.shape(term.factors)] for term in terms[:SHAPES]), last=", ")
            paths = in_class([path for path in section.paths if path], self.formula)
            where = listed(*paths[:SHAPES], *([[f"{len(paths) - SHAPES} more"]] if len(paths) > SHAPES else []))
            labels = section.chain.labels
            each: list[Piece] = [piece for label in labels[:1] for piece in (Math(label), " = ")]
            part = section.line.part
            title: Line = [part.title, ": "] if isinstance(part, Component) else []
            simple = self.simple.get(id(section))
            cited = [piece for piece in simple.where if isinstance(piece, Cited)] if simple and self.first else []
            rows.append(
                [
                    [*title, *where, *maybe(cited, " ", *cited)],
                    *([output_of(computed.get(id(section)))] if computed else []),
                    *([[*shapes, *maybe(len(terms) > SHAPES, ", …")]] if shaped else []),
                    [*each, Math(section.chain.steps[-1])],
                ]
            )
        same: list[Line] = [
            [Math(label), " = ", Math(section.chain.labels[0])]
            for section in self.simple_sections
            if section.chain
            for label in section.chain.labels[1:]
        ]
        names = [Paragraph(["Parts with equal totals: ", *listed(*same), "."], defines=True)] if same else []
        table = Table(head, rows, "w" + "l" * (len(head) - 1), computations=[*computed.values()])
        tied = [Paragraph(line) for line in tied_modules(self.formula)]
        return replace(self._step(["The simple parts"], [table, *tied]), notes=names)

    # -- equations ---------------------------------------------------------------------------------------------------

    def _prefix(self, chain: Chain, count: int) -> Chain:
        return Chain(chain.labels, chain.steps[:count], chain.reasons[:count])

    def _equation(self, section: Section, chain: Chain, last: bool) -> Equation:
        """Return the lines of an equation so far; only the complete equation has a number."""
        reasons = [self._reason(each) for each in chain.reasons]
        return Equation(chain, id=id_of(section.line, self.formula) if last else "", reasons=reasons)

    def _reason(self, reason: Reason) -> Line:
        """Return the reason for a step: relations, and the equations of the parts."""
        said: list[Line] = [
            [Math.of(size), " = ", Math.of(self.formula.relations[size])] for size in reason if isinstance(size, Symbol)
        ]
        alone = {line.key for section in self.simple_sections for line in section.lines}
        ids = [self.places[each.key] for each in reason if isinstance(each, AccountLine) and each.key not in alone]
        order = list(dict.fromkeys(self.places.values()))
        said += [[Ref(each)] for each in sorted(set(ids), key=order.index)]
        if any(isinstance(each, AccountLine) and each.key in alone for each in reason):
            said.append(["the simple parts"])
        return ["by ", *listed(*said)] if said else []


def _chunks(blocks: Sequence[Block]) -> Mapping[str, list[Block]]:
    """Return the blocks of each section of a derivation by its anchor."""
    found: dict[str, list[Block]] = {}
    anchor = ""
    for block in blocks:
        if isinstance(block, Heading):
            anchor = block.anchor
        found.setdefault(anchor, []).append(block)
    return found


def is_explanation(block: Paragraph, words: bool = True) -> bool:
    """Return True for a paragraph on how to read computations, or with ``words`` for the meanings of their words."""
    return (words and bool(block.notation)) or block.line == BASIS


def _action(reason: Reason) -> str:
    """Return the action of a step, as a title."""
    if any(isinstance(each, AccountLine) for each in reason):
        return "insert the totals of the parts"
    if reason:
        return "use the relations between sizes"
    return "collect terms"


def shares(found: Sequence[AmountFacts], formula: Formula, width: float = BROAD) -> FigureBlock | None:
    """Return the chart of the shares of the parts, the largest first; None without numbers."""
    counted = [each for each in found if each.share is not None and each.value is not None]
    if len(counted) < 2 or any(each.share < 0 for each in counted if each.share is not None):
        return None
    lines = {(line.path, expand(line.each.xreplace(formula.display_relations))): line for line in formula.root.parts()}
    bars: list[ShareBar] = []
    counted.sort(key=lambda amount: -(amount.share or 0))
    for each in counted:
        line = lines.get((each.name, each.each))
        title = line.part.title if line is not None and isinstance(line.part, Component) else ""
        path = class_path(each.name, formula) or formula.id.rpartition(".")[0]
        name: Line = [*maybe(title, f"{title} "), Code(path)]
        bars.append(ShareBar(name, role(line) if line is not None else "other", *_amount(each.share, each.value)))
    if len(bars) > MOST:
        rest = counted[MOST - 1 :]
        share, value = sum(each.share or 0 for each in rest), sum(each.value or 0 for each in rest)
        bars[MOST - 1 :] = [ShareBar([f"{len(rest)} more parts"], "other", *_amount(Fraction(share), value))]
    drawing = share_bars(bars, width, Ruler())
    return FigureBlock(lambda page, ruler=None: drawing)


def _amount(share: Fraction | None, value: int | Fraction | None) -> tuple[float, str]:
    """Return the length of a bar, and its amount in words."""
    return (float(share), f"{value:,} ({percent(share)})") if share is not None else (0.0, "")
