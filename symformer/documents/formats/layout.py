"""Lines and columns: where a long sum goes on, what a row has room for, which table is wide, for pages of some width.

All widths are in characters of prose; mathematics is measured as it would be printed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from math import floor

from ...language.notation.text import text
from ...language.notation.tree import Minus, Product, Stretch, Sum, Tree, sizes_of, terms_tree, tree
from ...language.symbols import letter
from ..blocks import (
    Block,
    Cited,
    Code,
    Computation,
    Equation,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    Ref,
    References,
    Strong,
    Table,
)
from .letters import wide

FEW = 12  # rows of a table that stand on one page whatever stands before
WRAPPED = 40  # of a cell that wraps
BRIEF = 4  # lines of an equation that stands on one page with its table
BOXED = 4  # characters that a box around an equation takes from its lines
LEFT = 4  # rows of a table that goes on that stand on its last page at least,
DEEP = 16  # if they take no more lines
TAIL = 10  # lines that the last page has at least
LINE = 96  # characters of prose in one


@dataclass(frozen=True)
class Row:
    """A line of an equation: the sign before it, "=", or "+" or "-" where a long sum goes on; and why it follows."""

    sign: str
    shown: Tree
    reason: Line = ()


@dataclass(frozen=True)
class Page:
    """How much room there is; what is said of a page of A4 with its usual margins."""

    width: int = 66  # of mathematics in one line
    longest: int = 72  # of one term: a step on the way that has a longer one fits no line, and is left out
    table: int = 78  # in a row of a table
    widest: int = 98  # more than these fit in no type
    lines: int = 20  # of an equation, or lines of a table, that stand on one page
    figure: tuple[float, float] = (280.0, 400.0)  # points of a figure's column and of all, before it is enlarged
    broad: float = 450.0  # points that it may then take
    high: float = 660.0
    largest: float = 1.2
    # The equation that was laid out last, and its lines: a template asks for them many times before it asks for others.
    _latest: dict[str, tuple[Equation, list[Row]]] = field(default_factory=dict, repr=False, compare=False)

    def rows(self, equation: Equation) -> list[Row]:
        """Each line after the labels; the reason of a long one stands behind its last piece."""
        known = self._latest.get("")
        if known is None or known[0] is not equation:
            self._latest[""] = known = (equation, self._broken(equation))
        return known[1]

    def _broken(self, equation: Equation) -> list[Row]:
        reasons = [*equation.reasons, *[()] * len(equation.chain.steps)]
        steps = list(zip(equation.chain.steps, reasons, strict=False))
        found: list[Row] = []
        left_out: Line = ()
        for place, (told, reason) in enumerate(steps):
            step = told if self._fits(told) else _opened(told)
            if place < len(steps) - 1 and not self._fits(step):
                left_out = reason or left_out  # the next line follows by it
                continue
            pieces = self._pieces(step, BOXED * equation.key)
            signed = [("=", pieces[0]), *map(_carried, pieces[1:])]
            found += [Row(*piece) for piece in signed[:-1]] + [Row(*signed[-1], reason or left_out)]
            left_out = ()
        return found

    def labels(self, equation: Equation) -> list[list[Tree]]:
        """The labels, on lines of their own where they would crowd the first row out; else on one, with that row."""
        lines: list[list[Tree]] = [[]]
        for label in equation.chain.labels:
            if lines[-1] and sum(map(breadth, (*lines[-1], label))) > self.width:
                lines.append([])
            lines[-1].append(label)
        crowded = sum(map(breadth, lines[-1])) + breadth(self.rows(equation)[0].shown) > self.longest
        long = len(equation.chain.labels) > 1 or any(breadth(each) > self.longest // 4 for each in lines[-1])
        return [*lines, []] if long and crowded else lines

    def long(self, block: Equation | Table) -> bool:
        """Whether it may go on from one page to the next: many rows, or some that wrap into many lines."""
        if isinstance(block, Equation):
            return sum(1 + _high(row.shown) for row in self.rows(block)) > self.lines
        return len(block.rows) > FEW or sum(_deep(block)) > self.lines

    def kept(self, table: Table) -> int:
        """How many of the last rows of a table that goes on stand on one page: so many that it leaves no fewer over."""
        lines = list(accumulate(reversed(_deep(table)[-LEFT:])))
        return sum(each <= DEEP for each in lines) if self.long(table) else 0

    def brief(self, equation: Equation) -> bool:
        """Whether it has so few lines that it stands on one page with what it follows from."""
        return len(self.rows(equation)) <= BRIEF

    def columns(self, table: Table) -> str:
        """The alignment; where the longest cells do not fit side by side, as few of the widest wrap as will do."""
        longest, align = _longest(table), table.align
        if "w" in align:
            return align
        for place in sorted(range(len(longest)), key=longest.__getitem__, reverse=True):
            taken = sum(min(n, WRAPPED) if kind == "w" else n for kind, n in zip(align, longest, strict=True))
            if taken <= self.widest or (align != table.align and longest[place] <= self.widest // 2):
                break
            align = align[:place] + "w" + align[place + 1 :]
        return align

    def wide(self, table: Table) -> bool:
        """Whether its longest cells, side by side, need a smaller type."""
        cells = zip(table.align, _longest(table), strict=True)
        return sum(min(n, WRAPPED) if kind == "w" else n for kind, n in cells) > self.table

    def beside(self, equation: Equation, row: Row) -> bool:
        """Whether the reason of a row has room behind the longest of all rows."""
        labels = max((sum(map(breadth, line)) for line in self.labels(equation)), default=0)
        longest = max(breadth(each.shown) for each in self.rows(equation))
        return labels + longest + extent(row.reason) <= self.width

    def enlarged(self, width: float, height: float) -> float:
        """By how much a figure of so many points is made larger or smaller: to hundredths, downwards."""
        return floor(100 * min(self.largest, self.broad / width, self.high / height)) / 100

    def roomy(self, block: Computation) -> bool:
        """Whether the shapes of what is computed have room behind the lines."""
        named = max(breadth(line.name) for line in block.lines)
        shown = max(breadth(line.shown) for line in block.lines)
        often = [10 + breadth(tree(line.times)) if line.times is not None else 0 for line in block.lines]
        shapes = max(breadth(line.shape) + more for line, more in zip(block.lines, often, strict=True))
        return named + shown + shapes <= self.longest

    def tail(self, references: References) -> int:
        """How many of the last references stand on one page, so that it has some lines; they may be all."""
        lines = 0
        for found, (_, *said) in enumerate(reversed(references.entries)):
            if lines >= TAIL:
                return found
            lines += -(-sum(map(len, said)) // LINE)
        return len(references.entries)

    def ending(self, blocks: Sequence[Block]) -> int:
        """How many of the last blocks stand on one page, for the same; none, where some of the references do."""
        lines = 0
        for count, block in enumerate(reversed(blocks)):
            if lines >= TAIL:
                return count
            match block:
                case References() if self.tail(block) < len(block.entries):
                    return 0
                case References(entries=entries):
                    lines += sum(-(-sum(map(len, said)) // LINE) for _, *said in entries)
                case Heading():
                    lines += 1
                case Paragraph(line=line):
                    lines += -(-extent(line) // LINE)
                case Table(rows=rows) if not self.long(block):
                    lines += len(rows) + 1
                case _:
                    return count
        return len(blocks)

    def _fits(self, step: Tree) -> bool:
        return all(breadth(piece) <= self.longest for piece in self._pieces(step))

    def _pieces(self, shown: Tree, less: int = 0) -> list[Tree]:
        """A long sum in pieces that each fit a line, which may have room for so many characters less."""
        room = self.width - less
        if not isinstance(shown, Sum) or breadth(shown) <= room:
            return [shown]
        pieces: list[list[Tree]] = [[]]
        width = 0
        for told in shown.terms:
            for term in self._stretched(told, room, room - width):
                length = breadth(term) + 3
                if pieces[-1] and width + length > room:
                    pieces.append([])
                    width = 0
                pieces[-1].append(term)
                width += length
        return [terms_tree(piece) for piece in pieces]

    def _stretched(self, term: Tree, room: int, left: int) -> list[Tree]:
        """A term in parts that each fit a line, where it ends with a sum in brackets that fits none; the first fits
        what is left of the line before it, if that is half a line.
        """
        product = term.operand if isinstance(term, Minus) else term
        inside = product.factors[-1] if isinstance(product, Product) else None
        if breadth(term) <= self.longest or not isinstance(product, Product) or not isinstance(inside, Sum):
            return [term]
        before = product.factors[:-1]
        parts: list[list[Tree]] = [[]]
        width = sum(map(breadth, before)) + 5 + (room - left if 2 * left > room else 0)
        for each in inside.terms:
            length = breadth(each) + 3
            if parts[-1] and width + length > room:
                parts.append([])
                width = 0
            parts[-1].append(each)
            width += length
        first: Tree = Stretch(before, tuple(parts[0]), opens=True, closes=len(parts) == 1)
        found = [Minus(first) if isinstance(term, Minus) else first]
        for place, part in enumerate(parts[1:], 2):
            sign, shown = _carried(terms_tree(part))
            terms = shown.terms if isinstance(shown, Sum) else (shown,)
            stretch = Stretch((), terms, opens=False, closes=place == len(parts))
            found.append(Minus(stretch) if sign == "-" else stretch)
        return found


A4 = Page()


def tall(table: Table) -> bool:
    """Whether a cell has a fraction, which is taller than a line."""
    cells = [cell for row in (table.head, *table.rows) for cell in row]
    return any(_high(piece.shown) for cell in cells for piece in cell if isinstance(piece, Math))


def _high(shown: Tree) -> bool:
    """Whether it has a fraction."""
    return "/" in text(shown)


def _deep(table: Table) -> list[int]:
    """About how many lines each row takes."""
    return [max(-(-extent(cell) // WRAPPED) for cell in row) * (1 + tall(table)) for row in table.rows]


def _longest(table: Table) -> list[int]:
    return [max(map(extent, column)) for column in zip(*(table.rows or [table.head]), strict=True)]


def _opened(step: Tree) -> Tree:
    """A sum without the brackets around sums in it, where nothing stands before them: a line may end at each term."""
    if not isinstance(step, Sum):
        return step
    return Sum(tuple(term for each in step.terms for term in (each.terms if isinstance(each, Sum) else (each,))))


def _carried(piece: Tree) -> tuple[str, Tree]:
    """A piece of a sum that goes on, and the sign it goes on with."""
    first, *others = piece.terms if isinstance(piece, Sum) else (piece,)
    if not isinstance(first, Minus):
        return "+", piece
    return "-", terms_tree([first.operand, *others])


@lru_cache(maxsize=1 << 12)  # an equation's pieces are measured alone, in lines, and again in lines cut otherwise
def breadth(shown: Tree) -> int:
    """The room of mathematics in characters of prose: capitals are wide, subscripts small, and no dot is printed but
    beside a size that goes by a whole name, which is as wide as it is long.
    """
    spelt = text(shown)
    words = sorted({letter(size).name for size in sizes_of(shown) if letter(size).word}, key=len, reverse=True)
    for word in words:
        spelt = re.sub(rf"(?<![A-Za-z_]){re.escape(word)}(?![A-Za-z_])", "\N{BLACK SQUARE}" * len(word), spelt)
    dotted = [term for term in re.split(" [+-] ", spelt) if "\N{BLACK SQUARE}" in term]
    dots = 2 * sum(len(re.findall(r"(?<! )·", term)) for term in dotted)  # with the room around each
    capitals = sum(character.isupper() for character in spelt)
    digits = sum(character.isdigit() for character in spelt)
    small = sum(len(word) for word in re.findall(r"_([a-z_]+)", spelt))
    return len(spelt) - spelt.count("·") + dots + (3 * capitals - digits - 5 * small) // 10


def extent(line: Sequence[Piece]) -> int:
    return sum(map(_length, line))


def _length(piece: Piece) -> int:
    """The characters of a piece of a line, as plain text."""
    match piece:
        case str():
            return wide(piece)
        case Math(shown):
            return breadth(shown)
        case Cited() | Ref():
            return len("[1]")
        case Code(words) | Strong(words):
            return wide(words)
