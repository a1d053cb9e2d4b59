"""The layout of a slide of 16:9: its page, and the blocks of a step divided among as many slides as they need.

Heights are in lines of a type of 14 points, estimated; Typst then chooses the largest type with which a slide fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ...language.notation.display_tree import Tree
from ...language.notation.text import text
from ...output.blocks import (
    Block,
    Computation,
    Equation,
    FigureBlock,
    Heading,
    Line,
    Math,
    Paragraph,
    References,
    Table,
    plain,
)
from ...output.chain import Chain
from .page_layout import Page, breadth, extent

BETWEEN = 0.8  # lines between two blocks
ROW, FRACTION, SHAPE = 1.5, 2.3, 1.4  # lines of a row of an equation, of one with a fraction, and of a shape below it
CELL = 1.3  # lines of a row of a table
T = TypeVar("T")
SMALLER = 1.25  # height of a step in a smaller type, relative to the usual maximum
WRAPPED = 20  # minimum width of a column that wraps


@dataclass(frozen=True)
class SlideLayout:
    """The room for the blocks of a slide: all of it, or the room next to a figure."""

    page: Page
    characters: int  # of prose in a line
    lines: float = 19.0

    def height(self, block: Block) -> float:
        """Return the height of a block in lines."""
        page = self.page
        match block:
            case Paragraph(line=line) | Heading(line=line):
                return -(-extent(line) // self.characters) + BETWEEN
            case Equation():
                labels = len(page.labels(block)) - 1
                below = sum(bool(row.reason) and not page.beside(block, row) for row in page.rows(block))
                rows = sum(_row(row.shown) for row in page.rows(block))
                return rows + ROW * (labels + below + block.key) + BETWEEN
            case Computation():
                return sum(self._lines(block)) + BETWEEN
            case Table():
                return CELL * (1 + sum(self._depths(block))) + BETWEEN
            case References(entries=entries):
                return sum(self.entry(entry) for entry in entries)
            case FigureBlock():
                return self.lines
        return 0.0

    def entry(self, entry: Sequence[str]) -> float:
        """Return the height of an entry of the references."""
        return -(-sum(map(len, entry[1:])) // self.characters) + BETWEEN

    def total(self, blocks: Sequence[Block]) -> float:
        """Return the height of several blocks."""
        return sum(map(self.height, blocks))

    def has_room(self, *blocks: Block) -> bool:
        """Return True if blocks fit a slide, possibly in a smaller type."""
        return self.total(blocks) <= SMALLER * self.lines

    def fits(self, blocks: Sequence[Block]) -> bool:
        """Return True if no mathematics and no table of these blocks is too wide."""
        return all(self._narrow(block) for block in blocks)

    def _narrow(self, block: Block) -> bool:
        page = self.page
        match block:
            case Computation(lines=lines):
                return all(breadth(line.name) + breadth(line.shown) <= page.longest for line in lines)
            case Equation():
                rows = page.rows(block)
                named = sum(map(breadth, page.labels(block)[-1]))
                return named + max(breadth(row.shown) for row in rows) <= page.longest + 5 and len(rows) <= 6
            case Table():
                return not page.wide(block) if "w" not in block.align else self._wrapped(block) >= WRAPPED
        return True

    def divided(self, blocks: Sequence[Block]) -> list[list[Block]]:
        """Return the blocks of each slide; long tables, computations, equations and references are split.

        A step that is slightly too high is set in a smaller type.
        """
        if self.has_room(*blocks):
            return [[*blocks]]
        slides: list[list[Block]] = [[]]
        left = self.lines
        for block in (part for each in blocks for part in self._parts(each)):
            high = self.height(block)
            if slides[-1] and high > left:
                leading = slides[-1].pop() if _introduces(slides[-1][-1]) and len(slides[-1]) > 1 else None
                slides.append([leading] if leading is not None else [])
                left = self.lines - (self.height(leading) if leading is not None else 0.0)
            slides[-1].append(block)
            left -= high
        return slides if len(slides) > 1 else [[*blocks]]

    def _lines(self, block: Computation) -> list[float]:
        """Return the height of each line of a computation, with its shape next to it or below."""
        if self.page.roomy(block):
            return [max(_row(line.shown), _row(line.shape)) for line in block.lines]
        return [_row(line.shown) + max(SHAPE, _row(line.shape) - 0.1) for line in block.lines]

    def _wrapped(self, table: Table) -> int:
        """Return the room in characters that the other columns of a table leave to each column that wraps."""
        wraps = [place for place, kind in enumerate(self.page.columns(table)) if kind == "w"]
        longest = [max(map(extent, cells)) for cells in zip(table.head, *table.rows, strict=True)]
        room = self.characters - sum(3 + long for place, long in enumerate(longest) if place not in wraps)
        return room // max(len(wraps), 1) - 3

    def _depths(self, table: Table) -> list[int]:
        """Return the number of lines of each row, with the room that columns leave to those that wrap."""
        wraps = [place for place, kind in enumerate(self.page.columns(table)) if kind == "w"]
        share = max(self._wrapped(table), 8)
        return [
            max([-(-extent(row[place]) // share) for place in wraps] or [1]) + any(map(_has_fraction, row))
            for row in table.rows
        ]

    def _parts(self, block: Block) -> Iterator[Block]:
        """Yield a block in parts that each fit a slide."""
        match block:
            case Table(rows=rows) if self.height(block) > self.lines:
                depths = [CELL * depth for depth in self._depths(block)]
                pieces = _runs(rows, depths, self.lines - CELL - BETWEEN)
                for place, piece in enumerate(pieces):
                    yield replace(block, rows=piece, total=block.total and place == len(pieces) - 1)
            case Computation(lines=lines) if self.height(block) > self.lines:
                for run in _runs(lines, self._lines(block), self.lines - BETWEEN):
                    yield replace(block, lines=run)
            case Equation(chain=chain) if len(chain.steps) > 1 and not self.has_room(block):
                reasons = [*block.reasons, *[()] * len(chain.steps)]
                for place, (step, reason) in enumerate(zip(chain.steps, reasons, strict=False), 1):
                    last = place == len(chain.steps)
                    alone = Chain(chain.labels, (step,))
                    part = replace(block, chain=alone, id=block.id if last else "", reasons=[reason])
                    if last or self.has_room(part):  # a longer line repeats the rows of a table
                        yield part
            case References(entries=entries):
                first = block.first
                for listing in _runs(entries, [self.entry(entry) for entry in entries], self.lines):
                    yield References(listing, first)
                    first += len(listing)
            case _:
                yield block


def _has_fraction(line: Line) -> bool:
    return any(isinstance(piece, Math) and "/" in text(piece.shown) for piece in line)


def _row(shown: Tree) -> float:
    return FRACTION if "/" in text(shown) else ROW


def _introduces(block: Block) -> bool:
    return isinstance(block, Paragraph) and plain(block.line).rstrip().endswith(":")


def _runs(items: Sequence[T], heights: Sequence[float], room: float) -> list[list[T]]:
    """Divide items among as few slides as possible, about equally many on each."""
    count = max(1, -(-sum(heights) // room))
    share = sum(heights) / count
    runs: list[list[T]] = [[]]
    used = 0.0
    for item, height in zip(items, heights, strict=True):
        if runs[-1] and (used + height > room or used + height / 2 > share):
            runs.append([])
            used = 0.0
        runs[-1].append(item)
        used += height
    return runs


FULL = SlideLayout(Page(width=78, longest=86, table=90, widest=121, broad=770.0, high=372.0, largest=2.6), 122)
BESIDE = SlideLayout(Page(width=49, longest=54, table=60, widest=76, broad=262.0, high=372.0, largest=1.5), 76)
