"""The shapes of a drawing: rectangles, lines, circles and words. Lengths are in points, from the top left corner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...language.notation.display_tree import Call, nodes, sizes_of
from ...language.symbols import letter
from ...output.blocks import Line, Math

LEGIBLE = 6.0  # points: the smallest text on the page
MOST_COLUMNS = 4  # models in one figure
BLACK, GREY, WHITE = "#000000", "#555555", "#FFFFFF"
SMALL = 6.2  # font size of names, numbers and notes
LEADING = 9.6  # between two lines of text
Point = tuple[float, float]


@dataclass(frozen=True)
class Rect:
    """A rectangle."""

    x: float
    y: float
    w: float
    h: float
    fill: str = ""
    ink: str = BLACK
    stroke: float = 0.5
    radius: float = 0
    dashed: bool = False
    mark: str = ""  # its name on a live page, such as "box h.attn"
    kind: Literal["box"] = "box"

    def moved(self, x: float, y: float) -> Rect:
        return replace(self, x=self.x + x, y=self.y + y)


@dataclass(frozen=True)
class Circle:
    """A circle, given by its centre and radius."""

    x: float
    y: float
    r: float
    fill: str = WHITE
    ink: str = BLACK
    kind: Literal["circle"] = "circle"

    def moved(self, x: float, y: float) -> Circle:
        return replace(self, x=self.x + x, y=self.y + y)


@dataclass(frozen=True)
class Path:
    """A line through points, or the polygon that they enclose."""

    points: Sequence[Point]
    ink: str = BLACK
    stroke: float = 0.6
    filled: bool = False
    wire: bool = False  # whether it is the line of an arrow
    start: Point | None = None  # where the line starts that it is a piece of
    kind: Literal["path"] = "path"

    @property
    def origin(self) -> Point:
        """The point where the whole line starts."""
        return self.points[0] if self.start is None else self.start

    def moved(self, x: float, y: float) -> Path:
        start = None if self.start is None else (self.start[0] + x, self.start[1] + y)
        return replace(self, points=[(px + x, py + y) for px, py in self.points], start=start)


@dataclass(frozen=True)
class Words:
    """A line of words and mathematics, positioned by a point on its baseline."""

    x: float
    y: float
    line: Line
    width: float  # as measured
    size: float = 7
    anchor: Literal["left", "right", "center"] = "left"
    ink: str = BLACK
    mark: str = ""  # its name on a live page, such as "amount h.attn"
    kind: Literal["words"] = "words"

    @property
    def left(self) -> float:
        """The x where the line starts."""
        return self.x - {"left": 0.0, "right": self.width, "center": self.width / 2}[self.anchor]

    def moved(self, x: float, y: float) -> Words:
        return replace(self, x=self.x + x, y=self.y + y)


Shape = Rect | Circle | Path | Words


@dataclass(frozen=True)
class Drawing:
    """A drawing: its size, its shapes, a title and alternative text."""

    width: float
    height: float
    shapes: Sequence[Shape]
    title: str = ""
    alt: str = ""
    background: str = WHITE

    @property
    def smallest_text(self) -> float:
        """The size of the smallest text in points."""
        return min(each.size for each in self.shapes if isinstance(each, Words))

    @property
    def least_scale(self) -> float:
        """The scale at which the smallest text is just legible."""
        return LEGIBLE / self.smallest_text


def has_subscript(line: Line) -> bool:
    """Return True if a size in a line has a subscript, whose letters descend further than those of the line."""
    sizes = (size for piece in line if isinstance(piece, Math) for size in sizes_of(piece.shown))
    return any(letter(size).subscript for size in sizes)


def has_call(line: Line) -> bool:
    """Return True if a line has a call, such as a rounded quotient, whose brackets are taller than letters."""
    shown = (each for piece in line if isinstance(piece, Math) for each in nodes(piece.shown))
    return any(isinstance(each, Call) for each in shown)


def arrow(points: Sequence[Point], head: bool = True, long: float = 3.6, wide: float = 1.5) -> list[Shape]:
    """Return the shapes of an arrow along horizontal and vertical lines."""
    points = [point for place, point in enumerate(points) if place == 0 or point != points[place - 1]]
    if not head or len(points) < 2:
        return [Path(tuple(points), wire=True)]
    (bx, by), (tx, ty) = points[-2:]
    dx, dy = (tx > bx) - (tx < bx), (ty > by) - (ty < by)
    base = (tx - dx * long, ty - dy * long)
    sides = [(base[0] + dy * wide, base[1] + dx * wide), (base[0] - dy * wide, base[1] - dx * wide)]
    return [Path((*points[:-1], base), wire=True), Path(((tx, ty), *sides), filled=True)]
