"""Frames around repeated layers or separate towers: a head, a bracket with the repetitions, and the graph inside."""

from __future__ import annotations

from collections.abc import Iterator

from ...language.notation.display_tree import tree
from ...output.blocks import Code, Line
from .box_content import (
    FORMULA,
    HEAVY,
    TITLE,
    BoxContent,
    amount_text,
    break_formula,
    fit_line,
    marked,
    shorten,
    title_lines,
)
from .figure import Frame
from .graph_layout import GraphLayout
from .layer_strip import KEY, SLIM, WIDE, bar, column_shapes
from .primitives import BLACK, GREY, LEADING, SMALL, Path, Point, Rect, Shape, Words, arrow
from .slashed_fractions import one_line
from .text_width import Ruler
from .x_coordinates import BRACKET, EDGE, PORT, PlacedGraph, times_of

BESIDE = 7.2  # between the widest layer of the column and its neighbour
BELOW_HEAD = 2.0  # between the outputs of each layer and the head of the frame
MOST_LINES = 2  # of the formula of a frame
STACK = 2.4  # between the edges of copies


def draw_frame(
    frame: Frame, width: float, ruler: Ruler, brackets: float, sided: frozenset[int] | None = None
) -> PlacedGraph:
    """Return a frame with its contents and, for repeated layers, a bracket with the number of repetitions.

    The bracket is on the left; if inputs can enter from the left, it is on the right.
    """
    says = times_of(frame)
    margin = brackets if sided is None else 0.0
    wide = WIDE if frame.bracketed else SLIM
    column = wide + BESIDE * wide / WIDE if frame.mixed else 0.0
    inside = width - brackets - 2 * EDGE - column
    inner = GraphLayout(frame.graph, inside, ruler, draw_frame, sided=sided).placed()
    head = _head(frame, inside, inner.out if frame.graph.gives else None, ruler)
    foot = 0.0 if frame.graph.arrows else EDGE
    height = foot + inner.height + head.height
    drawn: list[Shape] = [
        Rect(
            margin,
            0,
            width - brackets,
            height,
            fill="#FBFBFB",
            ink="#444444",
            radius=3,
            stroke=HEAVY if frame.differs else 0.7,
        )
    ]
    if says:
        on_left = sided is None
        x = brackets - BRACKET if on_left else width - brackets + BRACKET
        tip = x + (BRACKET - 1.5) * (1 if on_left else -1)
        drawn.append(Path(((tip, 2), (x, 2), (x, height - 2), (tip, height - 2)), stroke=0.8))
        if frame.kind is not None:  # above the number of repetitions
            above = height / 2 - LEADING * (len(says) - 1) / 2 - 6
            drawn.append(bar(frame.kind, x - 3 - KEY if on_left else x + 3, above, KEY))
        for place, line in enumerate(says):
            y = height / 2 + LEADING * (place - (len(says) - 1) / 2) + 2.4
            aside, anchor = (x - 3, "right") if on_left else (x + 3, "left")
            drawn.append(Words(aside, y, line, ruler.width(line, FORMULA), FORMULA, anchor))  # type: ignore[arg-type]
    rise = 2 * STACK if frame.stacked else 0.0
    if frame.stacked:
        drawn = [*_behind(margin, width - brackets), *drawn]
    start = margin + EDGE + column
    drawn += [shape.moved(start, 0) for shape in head.shapes]
    drawn += [shape.moved(start, head.height) for shape in inner.shapes]
    if frame.graph.gives:
        drawn.append(Path(((start + inner.out, head.height), (start + inner.out, -rise)), wire=True))
    for y in (y for ys in inner.sides.values() for y in ys):
        drawn.append(Path(((margin, height - foot - y), (margin + EDGE, height - foot - y)), wire=True))
    sides = {port: [foot + y for y in ys] for port, ys in inner.sides.items()}
    ports, out = [start + x for x in inner.ports], start + inner.out
    if frame.mixed:  # one arrow into the first layer and out of the last
        out = margin + max(PORT + 0.3, EDGE + wide / 2 - 1)
        drawn += column_shapes(frame.strip, out, wide, height, flows=bool(ports))
        ports[:1] = [out] if ports else []
        for place, port in enumerate(sorted(sided or ()), 1):  # such as the output of an encoder
            y = height * place / (len(sided or ()) + 1)
            drawn += arrow([(margin, y), (out - wide / 2, y)])
            sides[port] = [height - y]
    levels = {key: foot + y for key, y in inner.levels.items()}
    tap: Point | None = None
    if frame.tap is not None:
        x, y = inner.taps.get(frame.tap, (inner.out, inner.height - BELOW_HEAD))
        tap = (margin + width - brackets, foot + y)
        drawn.append(Path(((start + x, height - tap[1]), (tap[0], height - tap[1])), wire=True))
    drawn = [shape.moved(0, rise) for shape in drawn]
    return PlacedGraph(width, height + rise, drawn, ports, out, sides, levels=levels, tap=tap)


def _behind(margin: float, width: float) -> list[Shape]:
    """Return the upper edges of the further copies behind a frame."""
    shifts = (2 * STACK, STACK)
    return [
        Rect(margin + shift, -shift, width - 2 * shift, shift + 3, fill="#FBFBFB", ink="#444444", radius=2, stroke=0.7)
        for shift in shifts
    ]


def _head(frame: Frame, width: float, out: float | None, ruler: Ruler) -> BoxContent:
    """Return the title of a frame and the amount of one copy, on either side of its outgoing line."""
    left, right = (width, width) if out is None else (out - 5, width - out - 5)
    start = 0.0
    if out is not None and out < width / 3:  # the line leaves no room on its left
        start = out + 5
        left = right = (width - start) / 2
    rows: list[tuple[Line, float, str]] = [(line, TITLE, BLACK) for line in title_lines(frame, ruler, left)]
    beside_title = 0.0
    if frame.title and frame.name:
        name: Line = [Code(frame.name)]
        wide = ruler.width(rows[-1][0], TITLE) + 5
        if len(rows) == 1 and wide + ruler.width(name, SMALL) <= left:
            beside_title = wide
        else:
            name = shorten(Code(frame.name), left, ruler, SMALL)
        rows.append((name, SMALL, GREY))
    for note in frame.notes:
        rows += [(line, SMALL, BLACK) for line in fit_line(note, left, ruler)]
    drawn: list[Shape] = []
    y = 3.0
    for line, size, ink in rows:
        x = start + (beside_title if ink == GREY else 0.0)
        y += 0.0 if ink == GREY and beside_title else LEADING - (0 if size == TITLE else 1)
        drawn.append(Words(x, y - 2, line, ruler.width(line, size), size, "left", ink))
    high = 3.0
    for line, size, beside in _amounts(frame, left, right, out is not None, ruler):
        wide = ruler.width(line, size)
        if beside:
            high += LEADING
            words = Words(width, high - 2, line, wide, size, "right")
        else:
            y += LEADING
            words = Words(start, y - 2, line, wide, size)
        drawn.append(marked(words, frame.amount, frame.key))
    return BoxContent(drawn, width, max(y, high) + (1 if frame.graph.arrows else EDGE))


def _amounts(
    frame: Frame, left: float, right: float, goes_on: bool, ruler: Ruler
) -> Iterator[tuple[Line, float, bool]]:
    """Yield the lines of the formula and the number of one copy, with their sizes, and whether each is on the right.

    Lines that are too wide for the right side are below the title. The formula may take several lines there, and the
    number and the share may each take one. A frame without an outgoing line has no room for them.
    """
    if not goes_on:
        return
    amount = frame.amount
    formula: Line = one_line(tree(amount.shown))
    if amount.shown != 0 and amount.stated:
        if ruler.width(formula, FORMULA) <= right:
            yield formula, FORMULA, True
        elif frame.bracketed:
            broken = break_formula(amount.shown, left, ruler)
            whole = not str(broken[-1][-1]).endswith("more terms")
            if whole and len(broken) <= MOST_LINES and all(ruler.width(line, FORMULA) <= left for line in broken):
                yield from ((line, FORMULA, False) for line in broken)
    said = amount_text(amount)
    if not said:
        return
    pieces = said.split(" · ")
    for lines, room, beside in (
        ([said], right, True),
        (pieces, right, True),
        ([said], left, False),
        (pieces, left, False),
    ):
        if all(ruler.width([line], SMALL) <= room for line in lines):
            yield from (([line], SMALL, beside) for line in lines)
            return
