"""The faults of a drawing, by bounding boxes: overlaps, labels that a line crosses, and text that is too small."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from symformer.documents.figures.primitives import Drawing, Rect, Words
from symformer.documents.figures.primitives import Path as Line

Area = tuple[float, float, float, float]  # left, right, top, bottom
BOX = 2.2  # the radius of the corners of a box
ARROW = 0.6  # the stroke of an arrow
# Of a line of New Computer Modern, relative to the font size: capitals rise 0.68 above the baseline, and a subscript
# reaches 0.25 below it. A line may touch these by a tenth.
RISE, DEPTH = 0.6, 0.2


def faults(drawn: Drawing) -> list[str]:
    """Return overlapping boxes, words that overlap or leave their box or the page, and lines through boxes or words."""
    boxes = [each for each in drawn.shapes if isinstance(each, Rect) and each.radius == BOX]
    words = [each for each in drawn.shapes if isinstance(each, Words)]
    lines = [each for each in drawn.shapes if isinstance(each, Line) and not each.filled and each.stroke == ARROW]
    spans = [(a, b, line) for line in lines for a, b in pairwise(line.points)]
    found = []
    for place, one in enumerate(boxes):
        found += [f"boxes {one} {two}" for two in boxes[:place] if _both(_area(one), _area(two))]
        found += [f"through {a} {b} {one}" for a, b, _ in spans if _crosses(_area(one), _around(a, b))]
    for place, one in enumerate(words):
        if one.left < -0.5 or one.left + one.width > drawn.width + 0.5 or not 0 < one.y < drawn.height:
            found.append(f"off the page {one}")
        found += [f"words {one} {two}" for two in words[:place] if _both(_room(one), _room(two))]
        found += [f"crossed {one} {a} {b}" for a, b, _ in spans if _crosses(_room(one), _around(a, b))]
        for box in boxes:
            inside = box.x <= one.x <= box.x + box.w and box.y < one.y - 2 < box.y + box.h
            if inside and (one.left < box.x or one.left + one.width > box.x + box.w or one.y > box.y + box.h):
                found.append(f"out of its box {one}")
    return [*found, *_on_each_other(spans)]


def smallest(drawn: Drawing, scale: float) -> float:
    """Return the size of the smallest text of a drawing that is scaled."""
    return scale * min(each.size for each in drawn.shapes if isinstance(each, Words))


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


def _room(words: Words) -> Area:
    return words.left, words.left + words.width, words.y - RISE * words.size, words.y + DEPTH * words.size


def _crosses(box: Area, line: Area) -> bool:
    return box[0] < line[1] and line[0] < box[1] and box[2] < line[3] and line[2] < box[3]


def _both(one: Area, two: Area) -> bool:
    return min(one[1], two[1]) > max(one[0], two[0]) and min(one[3], two[3]) > max(one[2], two[2])
