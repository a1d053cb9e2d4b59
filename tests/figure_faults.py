"""The faults of a drawing, by bounding boxes: overlaps, labels that touch a line, and text that is too small."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import typst

from symformer.documents.figures.primitives import Circle, Drawing, Rect, Words
from symformer.documents.figures.primitives import Path as Line
from symformer.documents.formats.base_language import templates
from symformer.documents.formats.typ import PRINTED
from symformer.language.notation.display_tree import FractionNode, nodes
from symformer.output.blocks import Math

Area = tuple[float, float, float, float]  # left, right, top, bottom
BOX = 2.2  # the radius of the corners of a box
ARROW = 0.6  # the stroke of an arrow
CLEAR = 0.5  # between a label and the ink of a line
APART = 0.8  # between a label and the edge of a box, a frame or a stack
# Prints how far the ink of a line of words rises above its baseline and falls below it, in font sizes. The height of a
# line of capitals says nothing about it: the p of Z_patch falls by 0.38.
_INK = """#set text(font: "New Computer Modern", size: 10pt, top-edge: "bounds", bottom-edge: "bounds")
#set par(leading: 0pt)
#let m(alt, body) = { set math.equation(alt: alt); body }
#let ink(body) = context {
  let below = measure(box(height: 50pt) + body).height - 50pt
  [#metadata(((measure(body).height - below) / 10pt, below / 10pt))<ink>]
}
"""
_measured: dict[str, tuple[float, float]] = {}


def faults(drawn: Drawing) -> list[str]:
    """Return overlapping boxes, words that overlap or leave their box or the page, lines through boxes, arrows that
    pass behind a box, a frame or a stack, and words that touch a line, the head of an arrow, the dot of a branch, a
    sum, or the upper or lower edge of a box; and stacked fractions, whose letters are too small to read.
    """
    boxes = [each for each in drawn.shapes if isinstance(each, Rect) and each.radius == BOX]
    words = [each for each in drawn.shapes if isinstance(each, Words)]
    lines = [each for each in drawn.shapes if isinstance(each, Line) and not each.filled and each.stroke == ARROW]
    spans = [(a, b, line) for line in lines for a, b in pairwise(line.points)]
    rooms = _rooms(words)
    inked = [*(_wider(_around(a, b), ARROW / 2) for a, b, _ in spans), *_heads(drawn)]
    edges = [area for each in drawn.shapes if isinstance(each, Rect) and each.radius for area in _edges(each)]
    circles = [each for each in drawn.shapes if isinstance(each, Circle)]
    found = []
    for place, one in enumerate(boxes):
        found += [f"boxes {one} {two}" for two in boxes[:place] if _both(_area(one), _area(two))]
        found += [f"through {a} {b} {one}" for a, b, _ in spans if _crosses(_area(one), _around(a, b))]
    for place, one in enumerate(words):
        if one.left < -0.5 or one.left + one.width > drawn.width + 0.5 or not 0 < one.y < drawn.height:
            found.append(f"off the page {one}")
        found += [f"words {one} {words[two]}" for two in range(place) if _both(rooms[place], rooms[two])]
        found += [f"line {area} at {one}" for area in inked if _crosses(_wider(rooms[place], CLEAR), area)]
        found += [f"{each} at {one}" for each in circles if _near(rooms[place], each)]
        found += [f"edge {area} at {one}" for area in edges if _crosses(_wider(rooms[place], APART), area)]
        shown = [piece.shown for piece in one.line if isinstance(piece, Math)]
        found += [f"stacked {one}" for each in shown if any(isinstance(part, FractionNode) for part in nodes(each))]
        for box in boxes:
            inside = box.x <= one.x <= box.x + box.w and box.y < one.y - 2 < box.y + box.h
            if inside and (one.left < box.x or one.left + one.width > box.x + box.w or one.y > box.y + box.h):
                found.append(f"out of its box {one}")
    return [*found, *_hidden(drawn), *_on_each_other(spans)]


def smallest(drawn: Drawing, scale: float) -> float:
    """Return the size of the smallest text of a drawing that is scaled."""
    return scale * min(each.size for each in drawn.shapes if isinstance(each, Words))


def _hidden(drawn: Drawing) -> Iterator[str]:
    """Yield arrows that a filled box, a frame or the edge of a stack covers, because it is drawn after them."""
    for place, shape in enumerate(drawn.shapes):
        if isinstance(shape, Rect) and shape.fill and shape.radius:  # bars and layers of a strip have no round corners
            for each in drawn.shapes[:place]:
                if isinstance(each, Line) and (each.wire or each.filled):
                    parts = [_around(a, b) for a, b in pairwise(each.points)]
                    yield from (f"behind {shape} {part}" for part in parts if _crosses(_area(shape), part))


def _on_each_other(spans: list[tuple[tuple[float, float], tuple[float, float], Line]]) -> Iterator[str]:
    """Yield lines of two tensors along the same line."""
    for place, (a, b, line) in enumerate(spans):
        for c, d, other in spans[:place]:
            if line.origin == other.origin:
                continue  # the same tensor
            (x0, x1, y0, y1), (u0, u1, v0, v1) = _around(a, b), _around(c, d)
            upright = x0 == x1 and u0 == u1 and abs(x0 - u0) < 0.8 and min(y1, v1) - max(y0, v0) > 0.6
            level = y0 == y1 and v0 == v1 and abs(y0 - v0) < 0.8 and min(x1, u1) - max(x0, u0) > 0.6
            if upright or level:
                yield f"lines {a} {b} {c} {d}"


def _area(box: Rect) -> Area:
    return box.x + 0.6, box.x + box.w - 0.6, box.y + 0.6, box.y + box.h - 0.6


def _around(a: tuple[float, float], b: tuple[float, float]) -> Area:
    return min(a[0], b[0]), max(a[0], b[0]), min(a[1], b[1]), max(a[1], b[1])


def _rooms(words: Sequence[Words]) -> list[Area]:
    """Return the areas of the ink of words, as Typst sets them."""
    spelt = [PRINTED.line(each.line) for each in words]
    if new := [*dict.fromkeys(each for each in spelt if each not in _measured)]:
        source = (_INK + "\n".join(f"#ink([{each}])" for each in new)).encode()
        said = typst.query(source, "<ink>", field="value", root=str(templates()), ignore_system_fonts=True)
        _measured.update(zip(new, map(tuple, json.loads(said)), strict=True))
    inks = [_measured[each] for each in spelt]
    return [
        (each.left, each.left + each.width, each.y - rise * each.size, each.y + depth * each.size)
        for each, (rise, depth) in zip(words, inks, strict=True)
    ]


def _heads(drawn: Drawing) -> Iterator[Area]:
    """Yield the areas of the heads of arrows."""
    for each in drawn.shapes:
        if isinstance(each, Line) and each.filled:
            xs, ys = [x for x, _ in each.points], [y for _, y in each.points]
            yield min(xs), max(xs), min(ys), max(ys)


def _edges(box: Rect) -> Iterator[Area]:
    """Yield the upper and lower edges of a box."""
    for y in (box.y, box.y + box.h):
        yield box.x, box.x + box.w, y - box.stroke / 2, y + box.stroke / 2


def _near(area: Area, circle: Circle) -> bool:
    """Return True if a circle is nearer to an area than labels may be."""
    across = max(area[0] - circle.x, circle.x - area[1], 0)
    along = max(area[2] - circle.y, circle.y - area[3], 0)
    return math.hypot(across, along) < circle.r + CLEAR


def _wider(area: Area, by: float) -> Area:
    return area[0] - by, area[1] + by, area[2] - by, area[3] + by


def _crosses(box: Area, line: Area) -> bool:
    return box[0] < line[1] and line[0] < box[1] and box[2] < line[3] and line[2] < box[3]


def _both(one: Area, two: Area) -> bool:
    return min(one[1], two[1]) > max(one[0], two[0]) and min(one[3], two[3]) > max(one[2], two[2])
