"""The drawing of a figure on a page, with text of a legible size."""

from __future__ import annotations

from collections.abc import Sequence

from ..formats.page_layout import Page
from .figure import Figure
from .figure_page import BETWEEN, drawing
from .narrow_columns import column_width
from .overview import with_fewer_boxes
from .primitives import Drawing, Words
from .text_width import Ruler

LEGIBLE = 6.0  # points: the smallest text on the page
WIDER = 1.15  # of a figure that is too high, relative to the usual maximum


def fitted_drawing(figures: Sequence[Figure], page: Page, ruler: Ruler | None = None) -> Drawing:
    """Return the drawing of one figure, or of several side by side, for a page.

    Text that would be smaller than 6 points is avoided by a wider drawing, and then by drawing layers as single
    boxes, those with the most parts first.

    Parameters
    ----------
    figures
        The figures; more than two are narrow columns.
    page
        The layout of the page.
    ruler
        Measures the width of lines; by default, with Typst.

    """
    ruler = ruler or Ruler()
    while True:
        for wider in (1.0, WIDER):
            column, most = (wider * width for width in page.figure)
            if figures[0].narrow:
                column = most = column_width(len(figures), page.broad)
            elif len(figures) > 1:
                column = most = min(column, (most - BETWEEN) / 2)
            drawn = drawing(*figures, column=column, most=most, ruler=ruler)
            if smallest_text(drawn, page) >= LEGIBLE:
                return drawn
        fewer = with_fewer_boxes(figures)
        if fewer is None:
            return drawn
        figures = fewer


def smallest_text(drawn: Drawing, page: Page) -> float:
    """Return the size in points of the smallest text of a drawing on a page."""
    scale = page.enlarged(drawn.width, drawn.height)
    return scale * min(each.size for each in drawn.shapes if isinstance(each, Words))
