"""Plots of exact values against a length on logarithmic axes, drawn as figures of a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor, log2, log10
from typing import TYPE_CHECKING

from ...language.notation.significant import significant
from ...output.blocks import Line, plain
from ...output.style import INKS
from .primitives import BLACK, GREY, Drawing, Path, Point, Shape, Words
from .text_width import Ruler

if TYPE_CHECKING:
    from ..formats.page_layout import Page

WIDTH, HEIGHT = 380.0, 200.0  # of the plot with its axes and labels, in points
SMALL = 7.0
LEFT, BOTTOM, TOP = 62.0, 30.0, 8.0
LEGEND = 11.0  # the height of a row of the legend
SAMPLE = 22.0  # the length of a line in the legend
RULE = "#DDDDDD"
# The lengths of dashes and gaps in points; the first line is solid. Lines differ in colour and in stroke.
DASHES: Sequence[tuple[float, ...]] = ((), (6, 2.5), (2, 2), (9, 2, 2, 2), (4, 1.5), (1, 1.5), (12, 3))


@dataclass(frozen=True)
class PlotLine:
    """A named line with exact points."""

    name: Line
    points: Sequence[tuple[int, int | Fraction]]


@dataclass(frozen=True)
class LinePlot:
    """A plot of lines over lengths; those with a label on the axis are powers of two."""

    lines: Sequence[PlotLine]
    xlabel: Line
    ylabel: Line
    unit: str  # of the ticks of the y-axis
    title: str
    alt: str

    def drawing(self, page: Page, ruler: Ruler | None = None) -> Drawing:
        """Return the drawing: the legend above the plot, the grid, and the lines.

        Parameters
        ----------
        page
            The layout of the page; the plot is as wide as its figures, up to WIDTH.
        ruler
            Measures the width of lines; by default, with Typst.

        """
        ruler = ruler or Ruler()
        while True:
            made = self._shapes(min(page.figure[1], WIDTH), ruler)
            if not ruler.settle():
                return made

    def _shapes(self, width: float, ruler: Ruler) -> Drawing:
        legend, top = self._legend(width, ruler)
        xs = [x for line in self.lines for x, _ in line.points]
        ys = [y for line in self.lines for _, y in line.points]
        low, high = floor(log10(min(ys))), floor(log10(max(ys))) + 1
        first, last = log2(min(xs)), max(log2(max(xs)), log2(min(xs)) + 1)
        right, bottom = width - 10, top + HEIGHT - BOTTOM

        def at(x: float, y: float | Fraction) -> Point:
            across = (log2(x) - first) / (last - first)
            return LEFT + across * (right - LEFT), bottom - (log10(y) - low) / (high - low) * (bottom - top - TOP)

        shapes: list[Shape] = [*legend]
        for power in range(low, high + 1):
            height = at(min(xs), 10.0**power)[1]
            ink = BLACK if power == low else RULE
            shapes.append(Path(((LEFT, height), (right, height)), ink, 0.5))
            shapes.append(_words(LEFT - 4, height + 2.4, [_tick(power, self.unit)], ruler, "right"))
        for power in range(round(first), floor(last + 1e-9) + 1, 2):
            x = at(2.0**power, 10.0**low)[0]
            shapes.append(Path(((x, bottom), (x, bottom + 3)), BLACK, 0.5))
            shapes.append(_words(x, bottom + 11, [f"{2**power:,}"], ruler, "center"))
        shapes.append(_words((LEFT + right) / 2, bottom + 22, self.xlabel, ruler, "center"))
        for place, line in enumerate(self.lines):
            shapes += _stroke([at(*point) for point in line.points], place)
        return Drawing(width, top + HEIGHT, shapes, self.title, self.alt)

    def _legend(self, width: float, ruler: Ruler) -> tuple[list[Shape], float]:
        """Return the label of the y-axis with the names of the lines below it, and their height."""
        shapes: list[Shape] = [_words(0, SMALL + 1, self.ylabel, ruler, "left")]
        x, y = 0.0, SMALL + 1 + LEGEND
        for place, line in enumerate(self.lines):
            wide = SAMPLE + 4 + ruler.width(line.name, SMALL)
            if x and x + wide > width:
                x, y = 0.0, y + LEGEND
            shapes += _stroke([(x, y - 2.3), (x + SAMPLE, y - 2.3)], place)
            shapes.append(_words(x + SAMPLE + 4, y, line.name, ruler, "left"))
            x += wide + 12
        return shapes, y


def _words(x: float, y: float, line: Line, ruler: Ruler, anchor: str) -> Words:
    ink = GREY if anchor == "left" and not line else BLACK
    return Words(x, y, line, ruler.width(line, SMALL), SMALL, anchor, ink)  # type: ignore[arg-type]


def _tick(power: int, unit: str) -> str:
    """Return a power of ten with a prefix.

    >>> _tick(8, "FLOPs"), _tick(3, "B"), _tick(2, "B")
    ('100 MFLOPs', '1 kB', '100 B')
    """
    prefixes = ("", "k", "M", "G", "T", "P", "E")
    step = min(max(power // 3, 0), len(prefixes) - 1)
    return f"{10 ** (power - 3 * step):,} {prefixes[step]}{unit}"


def _stroke(points: Sequence[Point], place: int) -> list[Shape]:
    """Return a line in the colour and the stroke of its place."""
    ink, pattern = INKS[place % len(INKS)], DASHES[place % len(DASHES)]
    if not pattern or len(points) < 2:
        return [Path(tuple(points), ink, 1.2)] if len(points) > 1 else []
    return [Path(tuple(piece), ink, 1.2) for piece in _dashed(points, pattern)]


def _dashed(points: Sequence[Point], pattern: Sequence[float]) -> list[list[Point]]:
    """Return the dashes of a line through points.

    >>> _dashed([(0, 0), (10, 0)], (4, 2))
    [[(0, 0), (4.0, 0.0)], [(6.0, 0.0), (10.0, 0.0)]]
    """
    found: list[list[Point]] = [[points[0]]]
    index, left, pen = 0, pattern[0], True
    for start, end in pairwise(points):
        length = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5
        done = 0.0
        while length - done > 1e-9:
            step = min(left, length - done)
            done, left = done + step, left - step
            point = (start[0] + (end[0] - start[0]) * done / length, start[1] + (end[1] - start[1]) * done / length)
            if pen:
                found[-1].append(point)
            if left <= 1e-9:
                index, pen = (index + 1) % len(pattern), not pen
                left = pattern[index]
                if pen:
                    found.append([point])
    return [piece for piece in found if len(piece) > 1]


def described(lines: Sequence[PlotLine], what: str, unit: str) -> str:
    """Return alternative text: the range of each line."""
    told = [
        f"{plain(line.name)} from {significant(line.points[0][1], unit)} to {significant(line.points[-1][1], unit)} "
        f"between {line.points[0][0]:,} and {line.points[-1][0]:,} tokens"
        for line in lines
    ]
    return f"{what}: {'; '.join(told)}."
