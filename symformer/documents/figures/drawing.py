"""A figure with everything at its place: its head, its graph, and what there is to say below."""

from __future__ import annotations

from collections.abc import Sequence

from ..blocks import Code, Line, Math, Strong
from .figure import Figure
from .layout import Layout
from .looks import FORMULA, LEADING, SMALL, amount_lines, cut, wrapped
from .measure import Ruler
from .shapes import GREY, Drawing, Shape, Words

COLUMN = 226.0  # points: a column of 8 cm
MARGIN = 1.0
HEAD = 8.6  # size of the title
COPIES = "Formulas are of one copy."
NUMBERS = "Formulas and numbers are of one copy, shares of all copies."


def drawing(figure: Figure, width: float = COLUMN) -> Drawing:
    """A figure drawn in so much width."""
    ruler = Ruler()
    while True:
        made = _drawn(figure, width, ruler)
        if not ruler.settle():
            return made


def _drawn(figure: Figure, width: float, ruler: Ruler) -> Drawing:
    inner = width - 2 * MARGIN
    shapes: list[Shape] = []
    y = 0.0
    title: Line = cut(Strong(figure.title), inner * 0.7, ruler, HEAD)
    wide = ruler.width(title, HEAD)
    y += 10
    shapes.append(Words(0, y - 2, title, wide, HEAD))
    if figure.target:
        name = cut(Code(figure.target), inner - wide - 8, ruler, SMALL)
        shapes.append(Words(inner, y - 2, name, ruler.width(name, SMALL), SMALL, "right", GREY))
    y += 1
    label: Line = [Math(figure.letter), " = "]
    indent = ruler.width(label, FORMULA)
    said = f"{figure.amount.value:,} {figure.unit}" if figure.amount.value is not None else figure.unit
    for place, (row, height) in enumerate(amount_lines(figure.amount, inner - indent, ruler, said)):
        y += height
        baseline = y - (LEADING - 6.6) / 2 - (height - LEADING) / 2
        if place == 0:
            shapes.append(Words(0, baseline, label, indent, FORMULA))
        shapes += [words.moved(indent, baseline) for words in row]
    y += 5
    laid = Layout(figure.graph, inner, ruler, figure.shapes, whole=True)
    placed = laid.placed()
    results = [(out.exits, line) for out, line in zip(laid.outs, figure.graph.results, strict=False)]
    y += _ends(shapes, results, y + 6, ruler, inner)
    shapes += [shape.moved(0, y) for shape in placed.shapes]
    y += placed.height
    ports = [
        (port.exits, line)
        for place, (port, line) in enumerate(zip(laid.ports, figure.graph.ports, strict=True))
        if any(not each.source and each.leaves == place and laid.items[each.target].rank == 1 for each in figure.graph.arrows)
    ]
    y += _ends(shapes, ports, y + 7, ruler, inner)
    for note in [*figure.notes, *([COPIES if figure.amount.value is None else NUMBERS] if figure.repeats else [])]:
        for line in wrapped(note, inner, ruler):
            y += LEADING - 1.6
            shapes.append(Words(0, y - 1, line, ruler.width(line, SMALL), SMALL, "left", GREY))
    moved = [shape.moved(MARGIN, 0) for shape in shapes]
    return Drawing(width, y + 2, moved, _title(figure), _title(figure))


def _ends(shapes: list[Shape], ends: Sequence[tuple[float, Line]], y: float, ruler: Ruler, room: float) -> float:
    """What goes in or comes out, beside the end of its arrow."""
    said = [(x, line) for x, line in ends if any(line)]
    for x, line in said:
        wide = ruler.width(line, SMALL)
        x = min(max(x, wide / 2), room - wide / 2)
        shapes.append(Words(x, y, line, wide, SMALL, "center"))
    return 10.0 if said else 2.0


def _title(figure: Figure) -> str:
    return " ".join(filter(None, (figure.title, f"({figure.target})" if figure.target else "")))
