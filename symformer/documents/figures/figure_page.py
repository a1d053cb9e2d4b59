"""The drawing of a figure: its head, its graph and its notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from ...output.blocks import Code, Line, Math, Strong
from .box_content import FORMULA, amount_lines, shorten, wrap_prose
from .figure import Figure
from .figure_body import figure_body
from .figure_diff import align
from .graph_ranks import breadth
from .layer_strip import strip_shapes
from .primitives import GREY, LEADING, SMALL, Drawing, Shape, Words
from .text_width import Ruler
from .towers import towers

COLUMN = 226.0  # points: a column of 8 cm
MARGIN = 1.0
BETWEEN = 14.0
HEAD = 8.6  # size of the title
COPIES = "Formulas are per copy."
NUMBERS = "Formulas and numbers are per copy; shares include all copies."


def drawing(*figures: Figure, column: float = COLUMN, most: float = inf, ruler: Ruler | None = None) -> Drawing:
    """Return the drawing of one figure, or of two side by side.

    Parameters
    ----------
    figures
        One or two figures.
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
    if len(figures) == 2:
        left, right = figures
        sides = _panels(align(left, right, [side.levels for side in sides]), width - 2 * MARGIN, ruler)
    head, body = max(side.head for side in sides), max(side.body for side in sides)
    foot = max(side.foot for side in sides)
    shapes: list[Shape] = []
    for place, side in enumerate(sides):
        x = MARGIN + place * (width + BETWEEN)
        shapes += [shape.moved(x, 0) for shape in side.heading]
        shapes += [shape.moved(x, head + body - side.body) for shape in side.graph]
        shapes += [shape.moved(x, head + body) for shape in side.notes]
    title = " and ".join(_title(figure) for figure in figures)
    whole = len(sides) * width + (len(sides) - 1) * BETWEEN
    return Drawing(whole, head + body + foot + 2, shapes, title, " ".join(figure.alt for figure in figures))


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
        label: Line = [Math(figure.letter), " = "]
        indent = ruler.width(label, FORMULA)
        said = f"{figure.amount.value:,} {figure.unit}" if figure.amount.value is not None else figure.unit
        for place, (row, height) in enumerate(amount_lines(figure.amount, self.room - indent, ruler, said)):
            y += height
            baseline = y - (LEADING - 6.6) / 2 - (height - LEADING) / 2
            if place == 0:
                self.heading.append(Words(0, baseline, label, indent, FORMULA))
            stated = [replace(words, mark="amount ") if words.line == [said] else words for words in row]
            self.heading += [words.moved(indent, baseline) for words in stated]
        for strip in figure.strips:
            shapes, high = strip_shapes(strip, self.room, ruler)
            self.heading += [shape.moved(0, y + 2) for shape in shapes]
            y += high + 2
        return y + 5

    def _body(self) -> float:
        body = figure_body(self.figure.graph, self.room, self.ruler)
        self.graph += body.shapes
        self.levels = body.levels
        return body.height

    def _foot(self) -> float:
        figure, y = self.figure, 0.0
        copies = [COPIES if figure.amount.value is None else NUMBERS] if figure.repeats else []
        for note in [*figure.notes, *copies]:
            for line in wrap_prose(note, self.room, self.ruler):
                y += LEADING - 1.6
                self.notes.append(Words(0, y - 1, line, self.ruler.width(line, SMALL), SMALL, "left", GREY))
        return y


def _title(figure: Figure) -> str:
    return " ".join(filter(None, (figure.title, f"({figure.target})" if figure.target else "")))
