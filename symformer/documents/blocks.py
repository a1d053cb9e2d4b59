"""The blocks a document is made of. They say what stands there; a template says how it looks in one language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sympy import Expr

from ..formulas.derivation import Chain
from ..language.notation.text import text
from ..language.notation.tree import Cross, Minus, Sum, Tree, sizes_of, terms_tree, tree
from ..language.symbols import letter
from ..ledger.facts import ONE


@dataclass(frozen=True)
class Math:
    """Mathematics within a line."""

    shown: Tree

    @classmethod
    def of(cls, expr: Expr) -> Math:
        """An expression in house order."""
        return cls(tree(expr))

    @classmethod
    def shape(cls, factors: Sequence[Expr]) -> Math:
        """The shape of a tensor, or what is multiplied out: ``V × E``. A factor of 1 is left out."""
        shown = tuple(tree(factor) for factor in factors if factor != 1)
        return cls(shown[0] if len(shown) == 1 else Cross(shown) if shown else tree(ONE))


@dataclass(frozen=True)
class Code:
    """A name from the code, or something to type."""

    text: str


@dataclass(frozen=True)
class Strong:
    """Words that matter more than the rest."""

    text: str


@dataclass(frozen=True)
class Cited:
    """A paper, by its key; a document prints the number that the paper has among its references."""

    key: str


Piece = str | Math | Code | Strong | Cited
Line = Sequence[Piece]


@dataclass(frozen=True)
class Heading:
    """A section's heading. The anchor is the id of the formula derived below it."""

    level: int  # 1, 2 or 3
    line: Line
    anchor: str = ""
    kind: Literal["heading"] = "heading"


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of prose."""

    line: Line
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True)
class Equation:
    """A chain of equal lines, aligned at the equals signs. ``key`` marks the one that the document is about."""

    chain: Chain
    key: bool = False
    kind: Literal["equation"] = "equation"

    @property
    def rows(self) -> list[tuple[str, Tree]]:
        """Each line after the labels, with the sign before it: "=", or "+" or "-" where a long sum goes on."""
        *before, last = self.chain.steps
        fitting = [step for step in before if all(_breadth(piece) <= _LONGEST for piece in _pieces(step))]
        found: list[tuple[str, Tree]] = []
        for step in (*fitting, last):
            first, *others = _pieces(step)
            found += [("=", first), *map(_carried, others)]
        return found

    @property
    def long(self) -> bool:
        """Whether it fills a page or more, and has to go on from one to the next."""
        return len(self.rows) > _ROWS

    @property
    def labels(self) -> list[list[Tree]]:
        """The labels, on lines of their own where they would crowd the first row out; else on one, with that row."""
        lines: list[list[Tree]] = [[]]
        for label in self.chain.labels:
            if lines[-1] and sum(map(_breadth, (*lines[-1], label))) > _WIDTH:
                lines.append([])
            lines[-1].append(label)
        crowded = sum(map(_breadth, lines[-1])) + _breadth(self.rows[0][1]) > _LONGEST
        long = len(self.chain.labels) > 1 or _breadth(lines[-1][0]) > _LONGEST // 4
        return [*lines, []] if long and crowded else lines


@dataclass(frozen=True)
class Table:
    """A table. Alignment is one letter a column: l, r or c. ``total`` sets the last row apart."""

    head: Sequence[Line]
    rows: Sequence[Sequence[Line]]
    align: str
    total: bool = False
    kind: Literal["table"] = "table"

    @property
    def columns(self) -> str:
        """The alignment, where the longest cells do not fit side by side with the widest of them wrapped."""
        longest = self._longest
        widest = max(range(len(longest)), key=longest.__getitem__, default=0)
        if "w" in self.align or sum(longest) <= _WIDEST:
            return self.align
        return self.align[:widest] + "w" + self.align[widest + 1 :]

    @property
    def wide(self) -> bool:
        """Whether its longest cells, side by side, need a smaller type."""
        return (
            sum(min(n, _WRAPPED) if kind == "w" else n for kind, n in zip(self.align, self._longest, strict=True))
            > _WIDE
        )

    @property
    def long(self) -> bool:
        """Whether it may go on from one page to the next: it has many rows, or some that wrap into many lines."""
        lines = sum(max(-(-sum(map(_length, cell)) // _WRAPPED) for cell in row) for row in self.rows)
        return len(self.rows) > _FEW or lines > _ROWS

    @property
    def tall(self) -> bool:
        """Whether a cell has a fraction, which is taller than a line."""
        cells = [cell for row in (self.head, *self.rows) for cell in row]
        return any("/" in text(piece.shown) for cell in cells for piece in cell if isinstance(piece, Math))

    @property
    def _longest(self) -> list[int]:
        return [
            max(sum(map(_length, cell)) for cell in column) for column in zip(*(self.rows or [self.head]), strict=True)
        ]


@dataclass(frozen=True)
class References:
    """Papers, numbered in the order given: byline, title, place."""

    entries: Sequence[tuple[str, str, str]]
    kind: Literal["references"] = "references"


Block = Heading | Paragraph | Equation | Table | References


@dataclass(frozen=True)
class Document:
    """A whole document."""

    title: str
    subtitle: str
    blocks: Sequence[Block]


def lines(blocks: Iterable[Block]) -> Iterator[Line]:
    """Every line of prose of some blocks, in the order they are read."""
    for block in blocks:
        match block:
            case Heading(line=line) | Paragraph(line=line):
                yield line
            case Table(head=head, rows=rows):
                yield from head
                for row in rows:
                    yield from row


def formulas_in(blocks: Iterable[Block]) -> Iterator[Tree]:
    """All mathematics of some blocks, in lines and by itself."""
    for block in blocks:
        if isinstance(block, Equation):
            yield from (*block.chain.labels, *block.chain.steps)
        for line in lines([block]):
            yield from (piece.shown for piece in line if isinstance(piece, Math))


def numbered(blocks: Sequence[Block]) -> tuple[list[Block], list[str]]:
    """The blocks with a number for each paper cited, and the keys of these papers in the order they are cited."""
    keys = list(dict.fromkeys(piece.key for line in lines(blocks) for piece in line if isinstance(piece, Cited)))

    def put(line: Line) -> Line:
        return [f"[{keys.index(piece.key) + 1}]" if isinstance(piece, Cited) else piece for piece in line]

    def resolved(block: Block) -> Block:
        match block:
            case Heading(line=line) | Paragraph(line=line):
                return replace(block, line=put(line))
            case Table(head=head, rows=rows):
                return replace(block, head=[*map(put, head)], rows=[[*map(put, row)] for row in rows])
        return block

    return [*map(resolved, blocks)], keys


_WIDE = 78  # characters in a row of a table
_WIDEST = 98  # more than these fit in no type
_WRAPPED = 40  # of a cell that wraps
_ROWS = 24  # of an equation, or lines of a table, that stand on one page
_FEW = 12  # rows of a table that do
_WIDTH = 66  # characters of mathematics in one line, as plain text
_LONGEST = 72  # of one term: a step on the way that has a longer one fits no line, and is left out


def _carried(piece: Tree) -> tuple[str, Tree]:
    """A piece of a sum that goes on, and the sign it goes on with."""
    first, *others = piece.terms if isinstance(piece, Sum) else (piece,)
    if not isinstance(first, Minus):
        return "+", piece
    return "-", terms_tree([first.operand, *others])


def _breadth(shown: Tree) -> int:
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
    small = sum(len(word) for word in re.findall(r"_([a-z]+)", spelt))
    return len(spelt) - spelt.count("·") + dots + (3 * capitals - digits - 5 * small) // 10


def _length(piece: Piece) -> int:
    """The characters of a piece of a line, as plain text."""
    match piece:
        case str():
            return len(piece)
        case Math(shown):
            return _breadth(shown)
        case Cited():
            return len("[1]")
        case Code(words) | Strong(words):
            return len(words)


def _pieces(shown: Tree) -> list[Tree]:
    """A long sum in pieces that each fit a line."""
    if not isinstance(shown, Sum) or _breadth(shown) <= _WIDTH:
        return [shown]
    pieces: list[list[Tree]] = [[]]
    width = 0
    for term in shown.terms:
        length = _breadth(term) + 3
        if pieces[-1] and width + length > _WIDTH:
            pieces.append([])
            width = 0
        pieces[-1].append(term)
        width += length
    return [terms_tree(piece) for piece in pieces]
