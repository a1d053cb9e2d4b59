"""The drawing of a figure: its head, its graph and its notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from ...output.blocks import Code, Line, Math, Strong
from .box_content import FORMULA, LEADING, SMALL, amount_lines, shorten, wrap_prose
from .figure import Figure
from .frames import draw_frame
from .graph_layout import GraphLayout
from .graph_ranks import breadth
from .primitives import GREY, Drawing, Shape, Words
from .text_width import Ruler

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
    crowd = max(breadth(graph) for figure in figures for graph in figure.graph.graphs())
    width = min(2 * column + BETWEEN, most) if crowd > 1 else column
    while True:
        sides = [FigurePanel(figure, width - 2 * MARGIN, ruler) for figure in figures]
        if not ruler.settle():
            break
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


class FigurePanel:
    """One figure: its head, its graph and its notes, each with y = 0 at its own top."""

    def __init__(self, figure: Figure, room: float, ruler: Ruler) -> None:
        self.figure, self.room, self.ruler = figure, room, ruler
        self.heading: list[Shape] = []
        self.graph: list[Shape] = []
        self.notes: list[Shape] = []
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
        return y + 5

    def _body(self) -> float:
        graph = self.figure.graph
        laid = GraphLayout(graph, self.room, self.ruler, draw_frame, self.figure.shapes, whole=True)
        placed = laid.placed()
        y = self._ends([(out.exits, line) for out, line in zip(laid.outs, graph.results, strict=False)], 6)
        self.graph += [shape.moved(0, y) for shape in placed.shapes]
        y += placed.height
        read = {each.leaves for each in graph.arrows if not each.source and laid.below(each)}
        ports = [
            (port.exits, line) for n, (port, line) in enumerate(zip(laid.ports, graph.ports, strict=True)) if n in read
        ]
        return y + self._ends(ports, y + 7)

    def _foot(self) -> float:
        figure, y = self.figure, 0.0
        copies = [COPIES if figure.amount.value is None else NUMBERS] if figure.repeats else []
        for note in [*figure.notes, *copies]:
            for line in wrap_prose(note, self.room, self.ruler):
                y += LEADING - 1.6
                self.notes.append(Words(0, y - 1, line, self.ruler.width(line, SMALL), SMALL, "left", GREY))
        return y

    def _ends(self, ends: Sequence[tuple[float, Line]], y: float) -> float:
        """Add the names of inputs or outputs at the ends of their arrows, and return the height."""
        said = [(x, line) for x, line in ends if any(line)]
        for x, line in said:
            wide = self.ruler.width(line, SMALL)
            middle = min(max(x, wide / 2), self.room - wide / 2)
            self.graph.append(Words(middle, y, line, wide, SMALL, "center"))
        return 10.0 if said else 2.0


def _title(figure: Figure) -> str:
    return " ".join(filter(None, (figure.title, f"({figure.target})" if figure.target else "")))
