"""The drawing of a figure on a page, with text of a legible size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sympy import Add

from ..formats.page_layout import Page
from .figure import Figure
from .figure_page import BETWEEN, drawing
from .narrow_columns import WIDEST, column_width
from .overview import with_fewer_boxes
from .primitives import LEGIBLE, Drawing
from .text_width import Ruler
from .unfilled import unfilled

TERMS = 20  # of a formula, beyond which a figure for a part of a page does not state amounts
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
                column = most = column_width(len(figures), min(page.broad, WIDEST))  # a screen has any width
            elif len(figures) > 1:
                column = most = min(column, (most - BETWEEN) / 2)
            drawn = drawing(*figures, column=column, most=most, ruler=ruler)
            if smallest_text(drawn, page) >= LEGIBLE:
                return drawn
        fewer = with_fewer_boxes(figures) or _with_fewer_words(figures)
        if fewer is None:
            return drawn
        figures = fewer


def _with_fewer_words(figures: Sequence[Figure]) -> list[Figure] | None:
    """Return the figures without the names of outputs, then without strips of layers; None if there are none left."""
    if any(figure.graph.results for figure in figures):
        return [replace(figure, graph=replace(figure.graph, results=())) for figure in figures]
    if any(figure.strips for figure in figures):
        return [replace(figure, strips=()) for figure in figures]
    return None


def overview_drawings(figure: Figure, page: Page) -> list[Drawing]:
    """Return drawings of a figure with less and less detail: without its amounts, then with layers as single boxes."""
    ruler, found = Ruler(), list[Drawing]()
    column, most = page.figure
    short = len(Add.make_args(figure.amount.shown)) <= TERMS
    left: list[Figure] | None = [figure]
    while left is not None:
        (most_detailed,) = left
        shown = [most_detailed, unfilled(most_detailed)] if short else [unfilled(most_detailed)]
        found += [drawing(each, column=column, most=most, ruler=ruler) for each in shown]
        left = with_fewer_boxes(left)
    return found


def smallest_text(drawn: Drawing, page: Page) -> float:
    """Return the size in points of the smallest text of a drawing on a page."""
    return page.enlarged(drawn.width, drawn.height) * drawn.smallest_text
