"""The short form of a derivation: a result, its sizes, the total of each part and a figure, on one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from ..language.notation.display_tree import Sum, terms_tree
from ..output.blocks import Block, Equation, Line, Math, Table
from ..views.figure_facts import FigureFacts
from .figures.inset import compact_illustration
from .formats.page_layout import A4, breadth

LONG = 6  # lines of the main equation, beyond which only its first form is shown
WIDE = 160  # characters of a formula in a table, beyond which only its first terms are shown
FIRST = 100  # characters of these terms


def short_form(blocks: Sequence[Block], figure: FigureFacts | None) -> list[Block]:
    """Return the blocks of a short derivation, followed by a figure if there is room for it."""
    drawn = compact_illustration(figure) if figure else []
    return [*map(_abridged, blocks), *drawn]


def _abridged(block: Block) -> Block:
    """Return a table without a caption, since two or three on a page need no numbers, and a long result once."""
    if isinstance(block, Table):
        return replace(block, caption=(), rows=[[*map(_brief, row)] for row in block.rows])
    if isinstance(block, Equation) and block.key and len(A4.rows(block)) > LONG:
        return replace(block, chain=replace(block.chain, steps=block.chain.steps[:1]), reasons=block.reasons[:1])
    return block


def _brief(cell: Line) -> Line:
    """Return a cell with only the first terms of a long sum, which the main equation states in full."""
    shown = cell[0].shown if len(cell) == 1 and isinstance(cell[0], Math) else None
    if not isinstance(shown, Sum) or breadth(shown) <= WIDE:
        return cell
    widths = accumulate(map(breadth, shown.terms))
    count = max(1, sum(width <= FIRST for width in widths))
    left = len(shown.terms) - count
    return [Math(terms_tree(list(shown.terms[:count]))), f", and {left} more terms"] if left > 1 else cell
