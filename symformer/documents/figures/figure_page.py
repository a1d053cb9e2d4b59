"""The drawing of a figure: its head, its graph and its notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from ...language.errors import joined
from ...output.blocks import Code, Line, Math, Strong
from .box_content import FORMULA, amount_lines, shorten, wrap_prose
from .column_alignment import aligned
from .figure import Figure
from .figure_body import figure_body
from .graph_ranks import breadth
from .layer_strip import strip_shapes
from .primitives import GREY, LEADING, SMALL, Drawing, Shape, Words
from .text_width import Ruler
from .towers import towers

COLUMN = 226.0  # points: a column of 8 cm
MARGIN = 1.0
BETWEEN = 14.0
NARROW = 8.0  # between narrow columns
HEAD = 8.6  # size of the title
COPIES = "Formulas are per copy."
NUMBERS = "Formulas and numbers are per copy; shares include all copies{}."
SAME_KIND = " in layers of the same kind"  # the tables add all kinds


def drawing(*figures: Figure, column: float = COLUMN, most: float = inf, ruler: Ruler | None = None) -> Drawing:
    """Return the drawing of one figure, or of several side by side.

    Parameters
    ----------
    figures
        The figures. Parts with the same role are at the same height in all of them.
    column
        The width of a column in points. A figure with frames side by side is two columns wide.
    most
        The maximum width in points.
    ruler
        Measures the width of lines; by default, with Typst.

    """
    ruler = ruler or Ruler()
    width = usual_width(figures, column, most)
    sides = _panels(figures, width - 2 * MARGIN, ruler)
    if len(figures) > 1:
        sides = _panels(aligned(figures, [side.levels for side in sides]), width - 2 * MARGIN, ruler)
    between = NARROW if figures[0].narrow else BETWEEN
    head, body = max(side.head for side in sides), max(side.body for side in sides)
    foot = max(side.foot for side in sides)
    shapes: list[Shape] = []
    for place, side in enumerate(sides):
        x = MARGIN + place * (width + between)
        shapes += [shape.moved(x, 0) for shape in side.heading]
        shapes += [shape.moved(x, head + body - side.body) for shape in side.graph]
        shapes += [shape.moved(x, head + body) for shape in side.notes]
    title = joined([_title(figure) for figure in figures])
    whole = len(sides) * width + (len(sides) - 1) * between
    shared, more = _notes(figures[0].shared, whole - 2 * MARGIN, ruler)
    while ruler.settle():
        shared, more = _notes(figures[0].shared, whole - 2 * MARGIN, ruler)
    shapes += [shape.moved(MARGIN, head + body + foot) for shape in shared]
    height = head + body + foot + more + 2
    return Drawing(whole, height, shapes, title, " ".join(figure.alt for figure in figures))


def usual_width(figures: Sequence[Figure], column: float = COLUMN, most: float = inf) -> float:
    """Return the width of figures: a column, or two if frames or towers are side by side."""
    crowd = max(breadth(graph) for figure in figures for graph in figure.graph.graphs())
    side_by_side = crowd > 1 or any(towers(figure.graph) for figure in figures)
    return min(2 * column + BETWEEN, most) if side_by_side else column


def _panels(figures: Sequence[Figure], room: float, ruler: Ruler) -> list[FigurePanel]:
    """Return figures with all widths measured."""
    while True:
        sides = [FigurePanel(figure, room, ruler) for figure in figures]
        if not ruler.settle():
            return sides


class FigurePanel:
    """One figure: its head, its graph and its notes, each with y = 0 at its own top."""

    def __init__(self, figure: Figure, room: float, ruler: Ruler) -> None:
        self.figure, self.room, self.ruler = figure, room, ruler
        self.heading: list[Shape] = []
        self.graph: list[Shape] = []
        self.notes: list[Shape] = []
        self.levels: Mapping[str, float] = {}
        self.head, self.body, self.foot = self._head(), self._body(), self._foot()

    def _head(self) -> float:
        figure, ruler = self.figure, self.ruler
        title = shorten(Strong(figure.title), self.room, ruler, HEAD)
        wide = ruler.width(title, HEAD)
        y = 10.0
        self.heading.append(Words(0, y - 2, title, wide, HEAD))
        if figure.target:
            name = shorten(Code(figure.target), self.room, ruler, SMALL)
            y += 0 if wide + 8 + ruler.width(name, SMALL) <= self.room else LEADING
            self.heading.append(Words(self.room, y - 2, name, ruler.width(name, SMALL), SMALL, "right", GREY))
        y += 1
        y = self._total(y)
        for strip in figure.strips:
            shapes, high = strip_shapes(strip, self.room, ruler)
            self.heading += [shape.moved(0, y + 2) for shape in shapes]
            y += high + 2
        return y + 5

    def _total(self, y: float) -> float:
        """Add the formula of the total and its number below y, without the formula in a narrow column; return the y
        below them.
        """
        figure, ruler = self.figure, self.ruler
        said = f"{figure.amount.value:,} {figure.unit}" if figure.amount.value is not None else figure.unit
        if figure.narrow:
            for line in wrap_prose(said, self.room, ruler) if figure.amount.value is not None else ():
                y += LEADING - 1
                self.heading.append(Words(0, y - 2, line, ruler.width(line, SMALL), SMALL))
            return y
        label: Line = [Math(figure.letter), " = "]
        indent = ruler.width(label, FORMULA)
        for place, (row, height) in enumerate(amount_lines(figure.amount, self.room - indent, ruler, said)):
            y += height
            baseline = y - (LEADING - 6.6) / 2 - (height - LEADING) / 2
            if place == 0:
                self.heading.append(Words(0, baseline, label, indent, FORMULA))
            stated = [replace(words, mark="amount ") if words.line == [said] else words for words in row]
            self.heading += [words.moved(indent, baseline) for words in stated]
        return y

    def _body(self) -> float:
        body = figure_body(self.figure.graph, self.room, self.ruler)
        self.graph += body.shapes
        self.levels = body.levels
        return body.height

    def _foot(self) -> float:
        figure = self.figure
        counted = figure.repeats and figure.filled and not figure.narrow
        numbers = NUMBERS.format(SAME_KIND if figure.kinds else "")
        copies = [COPIES if figure.amount.value is None else numbers] if counted else []
        self.notes, height = _notes([*figure.notes, *copies], self.room, self.ruler)
        return height


def _notes(notes: Sequence[str], room: float, ruler: Ruler) -> tuple[list[Shape], float]:
    """Return notes below a drawing, and their height."""
    shapes: list[Shape] = []
    y = 0.0
    for note in notes:
        for line in wrap_prose(note, room, ruler):
            y += LEADING - 1.6
            shapes.append(Words(0, y - 1, line, ruler.width(line, SMALL), SMALL, "left", GREY))
    return shapes, y


def _title(figure: Figure) -> str:
    return " ".join(filter(None, (figure.title, f"({figure.target})" if figure.target else "")))
