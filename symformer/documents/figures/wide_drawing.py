"""A drawing in the proportions of a slide: a model, and next to it the inside of its main parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .figure import Figure
from .figure_page import COLUMN, drawing
from .overview import with_fewer_boxes
from .primitives import Drawing, Shape
from .text_width import Ruler

WIDE, HIGH = 16, 9
TALLEST = 540.0  # points: of a slide of 13.33 by 7.5 inches, on which the smallest text has 6 points
BROADEST = 990.0
GAP = 12.0  # minimum between two drawings
EDGE = 12.0


def wide_drawing(models: Sequence[Figure], parts: Sequence[Figure] = ()) -> Drawing:
    """Return the drawing of models with as many parts as fit, with 16 units of width to 9 of height.

    Parameters
    ----------
    models
        The figure of one model, or of several. Layers are drawn as single boxes if it is too high otherwise.
    parts
        The figures of parts, the most important first.

    """
    ruler = Ruler()
    room = TALLEST - 2 * EDGE
    whole = drawing(*models, ruler=ruler)
    while whole.height > room:
        fewer = with_fewer_boxes(models)
        if fewer is None:
            whole = drawing(*models, column=2 * COLUMN, ruler=ruler) if len(models) == 1 else whole
            break
        models = fewer
        whole = drawing(*models, ruler=ruler)
    shown = [whole]
    for part in parts:
        drawn = drawing(part, ruler=ruler)
        if drawn.height <= room and sum(each.width + GAP for each in (*shown, drawn)) + EDGE <= BROADEST:
            shown.append(drawn)
    return _on_slide(shown)


def _on_slide(shown: Sequence[Drawing]) -> Drawing:
    """Return drawings side by side, spread over a slide."""
    height = max(each.height for each in shown) + 2 * EDGE
    width = sum(each.width for each in shown) + GAP * (len(shown) - 1) + 2 * EDGE
    high = max(height, width * HIGH / WIDE)
    return side_by_side(shown, high * WIDE / HIGH, high)


def side_by_side(shown: Sequence[Drawing], width: float, height: float) -> Drawing:
    """Return drawings next to each other, spread over a width."""
    between = (width - sum(each.width for each in shown)) / (len(shown) + 1)
    shapes: list[Shape] = []
    x = between
    for each in shown:
        y = (height - each.height) / 2
        shapes += [shape.moved(x, y) for shape in each.shapes]
        x += each.width + between
    alt = " ".join(each.alt for each in shown)
    return replace(shown[0], width=width, height=height, shapes=shapes, alt=alt)
