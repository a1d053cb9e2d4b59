"""Page layout: line breaks of long sums, room for reasons and shapes, widths of tables, for a given page width.

All widths are in characters of prose; mathematics is measured at its printed width.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from math import floor

from ...language.notation.display_tree import Minus, Product, Stretch, Sum, Tree, sizes_of, terms_tree, tree
from ...language.notation.text import text
from ...language.symbols import letter
from ...output.blocks import (
    Block,
    Cited,
    Code,
    Computation,
    Equation,
    EquationNumber,
    FloatSentence,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    Ref,
    References,
    Strong,
    Table,
    plain,
)
from .missing_glyphs import text_width

FEW = 12  # maximum rows of a table that is never split across pages
SCALED = 14  # maximum rows of a wide table that is scaled down; a table over several pages cannot be
HALF_PAGE = 32  # lines of small type
WRAPPED = 40  # width of a cell that wraps
BRIEF = 4  # maximum lines of an equation that is kept on one page with its table
BREAKABLE = 8  # maximum lines of a computation that is kept on one page
BOXED = 4  # characters that a box around an equation takes from its lines
LEFT = 4  # minimum rows of a split table on its last page,
FIRST = 3  # minimum rows of a split table on its first page,
DEEP = 16  # if they take at most this many lines
TAIL = 10  # minimum lines on the last page
TOGETHER = 2  # references that are kept together at the start and at the end of the list
LINE = 96  # characters of prose per line


@dataclass(frozen=True)
class EquationLine:
    """A line of an equation: its sign ("=", or "+" or "-" to continue a long sum), its expression and its reason."""

    sign: str
    shown: Tree
    reason: Line = ()


@dataclass(frozen=True)
class Page:
    """The dimensions of a page; the defaults are for A4 with the usual margins."""

    width: int = 66  # of mathematics in one line
    longest: int = 72  # of one term; an intermediate step with a longer term is omitted
    table: int = 78  # of a row of a table in normal type
    widest: int = 98  # of a row of a table in the smallest type
    lines: int = 20  # maximum lines of an equation or a table that is kept on one page
    figure: tuple[float, float] = (280.0, 400.0)  # width in points of a figure's column and of a figure, unscaled
    broad: float = 450.0  # maximum width in points of a scaled figure
    high: float = 660.0
    largest: float = 1.2
    # The last equation and its lines: a template requests them many times before the next equation.
    _latest: dict[str, tuple[Equation, list[EquationLine]]] = field(default_factory=dict, repr=False, compare=False)

    def rows(self, equation: Equation) -> list[EquationLine]:
        """Return the lines after the labels; the reason of a broken line follows its last piece."""
        known = self._latest.get("")
        if known is None or known[0] is not equation:
            self._latest[""] = known = (equation, self._broken(equation))
        return known[1]

    def _broken(self, equation: Equation) -> list[EquationLine]:
        reasons = [*equation.reasons, *[()] * len(equation.chain.steps)]
        steps = list(zip(equation.chain.steps, reasons, strict=False))
        found: list[EquationLine] = []
        left_out: Line = ()
        for place, (told, reason) in enumerate(steps):
            step = told if self._fits(told) else _opened(told)
            if place < len(steps) - 1 and not self._fits(step):
                left_out = reason or left_out  # it becomes the reason of the next line
                continue
            pieces = self._pieces(step, BOXED * equation.key)
            signed = [("=", pieces[0]), *map(_carried, pieces[1:])]
            found += [EquationLine(*piece) for piece in signed[:-1]] + [EquationLine(*signed[-1], reason or left_out)]
            left_out = ()
        return found

    def labels(self, equation: Equation) -> list[list[Tree]]:
        """Return the labels line by line; they share a line with the first row if there is room."""
        lines: list[list[Tree]] = [[]]
        for label in equation.chain.labels:
            if lines[-1] and sum(map(breadth, (*lines[-1], label))) > self.width:
                lines.append([])
            lines[-1].append(label)
        widest = max(breadth(row.shown) for row in self.rows(equation))  # all rows start after the labels
        crowded = sum(map(breadth, lines[-1])) + widest > self.longest
        long = len(equation.chain.labels) > 1 or any(breadth(each) > self.longest // 5 for each in lines[-1])
        return [*lines, []] if long and crowded else lines

    def long(self, block: Equation | Table) -> bool:
        """Return True if a block may be split across pages, because it has many rows or many wrapped lines."""
        if isinstance(block, Equation):
            return sum(1 + _high(row.shown) for row in self.rows(block)) > self.lines
        return len(block.rows) > FEW or sum(_deep(block)) > self.lines

    def kept(self, table: Table) -> int:
        """Return how many of the last rows of a split table are kept together on its last page."""
        lines = list(accumulate(reversed(_deep(table)[-LEFT:])))
        return sum(each <= DEEP for each in lines) if self.long(table) else 0

    def begun(self, table: Table) -> int:
        """Return how many of the first rows of a split table are kept together on its first page."""
        lines = list(accumulate(_deep(table)[:FIRST]))
        return sum(each <= DEEP for each in lines) if self.long(table) else 0

    def brief(self, equation: Equation) -> bool:
        """Return True if an equation is short enough to be kept on one page with its table."""
        return len(self.rows(equation)) <= BRIEF

    def columns(self, table: Table) -> str:
        """Return the alignment, with as few of the widest columns wrapped as needed to fit the page."""
        longest, align = _longest(table), table.align
        if "w" in align:
            return align
        for place in sorted(range(len(longest)), key=longest.__getitem__, reverse=True):
            taken = sum(min(n, WRAPPED) if kind == "w" else n for kind, n in zip(align, longest, strict=True))
            enough = len(align) > 3 and align.count("w") > 1
            if len(table.rows) <= SCALED:  # the rest is scaled
                enough |= align != table.align and longest[place] <= self.widest // 2
            if enough or taken <= self.widest:
                break
            align = align[:place] + "w" + align[place + 1 :]
        return align

    def wide(self, table: Table) -> bool:
        """Return True if a table needs a smaller type to fit the page."""
        cells = zip(table.align, _longest(table), strict=True)
        return sum(min(n, WRAPPED) if kind == "w" else n for kind, n in cells) > self.table

    def scaled(self, table: Table) -> bool:
        """Return True if a table is kept on one page, and scaled down if it is too wide."""
        some = len(table.rows) <= SCALED  # longtable, for the others, ignores figures at the top of a page
        return not self.long(table) or (some and (self.wide(table) or sum(_deep(table)) <= HALF_PAGE))

    def split(self, block: Computation) -> bool:
        """Return True if a computation may be split across pages."""
        high = [(1 + _high(line.shown), 1 + _high(line.shape)) for line in block.lines]
        if self.roomy(block):
            return sum(map(max, high)) > BREAKABLE
        return sum(map(sum, high)) > self.lines  # a shape below its line may be on the next page

    def beside(self, equation: Equation, row: EquationLine) -> bool:
        """Return True if the reason of a row fits after the longest row."""
        labels = max((sum(map(breadth, line)) for line in self.labels(equation)), default=0)
        longest = max(breadth(each.shown) for each in self.rows(equation))
        return labels + longest + extent(row.reason) <= self.width

    def enlarged(self, width: float, height: float) -> float:
        """Return the scale factor of a figure of a given size in points, rounded down to hundredths."""
        return floor(100 * min(self.largest, self.broad / width, self.high / height)) / 100

    def roomy(self, block: Computation) -> bool:
        """Return True if the shapes of a computation fit after its lines."""
        named = max(breadth(line.name) for line in block.lines)
        shown = max(breadth(line.shown) + _called(line.shown) for line in block.lines)
        often = [10 + breadth(tree(line.times)) if line.times is not None else 0 for line in block.lines]
        shapes = max(breadth(line.shape) + more for line, more in zip(block.lines, often, strict=True))
        return named + shown + shapes <= self.longest

    def tail(self, references: References) -> int:
        """Return how many of the last references are kept together, like the first two: two, or all of a few."""
        count = len(references.entries)
        return count if count < 2 * TOGETHER else TOGETHER

    def ending(self, blocks: Sequence[Block]) -> int:
        """Return how many of the last blocks are kept together for the same purpose; 0 if references suffice."""
        lines = 0
        for count, block in enumerate(reversed(blocks)):
            if lines >= TAIL:
                return count
            match block:
                case References() if self.tail(block) < len(block.entries):
                    return 0
                case References(entries=entries):
                    lines += sum(-(-sum(map(len, said)) // LINE) for _, *said in entries)
                case Heading(opens_page=True):
                    return count
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
        """Split a long sum into pieces that each fit a line shortened by ``less`` characters."""
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
        """Split a term that ends with a long sum in brackets into parts that each fit a line. The first part fits the
        rest of the line before it if that is at least half a line.
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


def is_tall(block: Table | Paragraph) -> bool:
    """Return True if a block contains a fraction, which is taller than a line."""
    if isinstance(block, Paragraph):
        return _has_fraction(block.line)
    return any(_has_fraction(cell) for row in (block.head, *block.rows) for cell in row)


def _has_fraction(line: Line) -> bool:
    return any(_high(piece.shown) for piece in line if isinstance(piece, Math))


def _high(shown: Tree) -> bool:
    """Return True if an expression contains a fraction."""
    return "/" in text(shown)


def _deep(table: Table) -> list[int]:
    """Return the approximate number of lines of each row."""
    return [max(-(-extent(cell) // WRAPPED) * (1 + _has_fraction(cell)) for cell in row) for row in table.rows]


def _longest(table: Table) -> list[int]:
    return [max(map(extent, column)) for column in zip(*(table.rows or [table.head]), strict=True)]


def _opened(step: Tree) -> Tree:
    """Return a sum with nested sums flattened, so that a line may break at each term."""
    if not isinstance(step, Sum):
        return step
    return Sum(tuple(term for each in step.terms for term in (each.terms if isinstance(each, Sum) else (each,))))


def _carried(piece: Tree) -> tuple[str, Tree]:
    """Return the leading sign of a continued sum, and the piece without it."""
    first, *others = piece.terms if isinstance(piece, Sum) else (piece,)
    if not isinstance(first, Minus):
        return "+", piece
    return "-", terms_tree([first.operand, *others])


@lru_cache(maxsize=1 << 12)  # pieces of an equation are measured repeatedly for different line breaks
def breadth(shown: Tree) -> int:
    """Return the width of mathematics in characters of prose. Capitals are wide, subscripts are small, and dots are
    printed only next to a size with a word as its name, which has the width of that word.
    """
    spelt = text(shown)
    words = sorted({letter(size).name for size in sizes_of(shown) if letter(size).word}, key=len, reverse=True)
    for word in words:
        spelt = re.sub(rf"(?<![A-Za-z_]){re.escape(word)}(?![A-Za-z_])", "\N{BLACK SQUARE}" * len(word), spelt)
    dotted = [term for term in re.split(" [+-] ", spelt) if "\N{BLACK SQUARE}" in term]
    dots = 2 * sum(len(re.findall(r"(?<! )·", term)) for term in dotted)  # including the space around each
    capitals = sum(character.isupper() for character in spelt)
    digits = sum(character.isdigit() for character in spelt)
    small = sum(len(word) for word in re.findall(r"_([a-z_]+)", spelt))
    return len(spelt) - spelt.count("·") + dots + (3 * capitals - digits - 5 * small) // 10


def _called(shown: Tree) -> int:
    """Return the width that ``breadth`` lacks for names of modules, whose underscores are no subscripts."""
    return sum(len(name) for name in re.findall(r"_([a-z_.]+)\(", text(shown))) // 2


def extent(line: Sequence[Piece]) -> int:
    return sum(map(_length, line))


def _length(piece: Piece) -> int:
    """Return the number of characters of a piece of a line as plain text."""
    match piece:
        case str():
            return text_width(piece)
        case Math(shown):
            return breadth(shown)
        case Cited() | Ref() | EquationNumber():
            return len("[1]")
        case FloatSentence():
            return text_width(plain([piece]))
        case Code(words) | Strong(words):
            return text_width(words)
