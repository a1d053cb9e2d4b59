"""The blocks a document is made of. They say what stands there; a template says how it looks in one language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sympy import Expr

from ..derivation import Chain
from ..notation.text import text
from ..notation.tree import Sum, Tree, terms_tree, tree


@dataclass(frozen=True)
class Math:
    """Mathematics within a line."""

    shown: Tree

    @classmethod
    def of(cls, expr: Expr) -> Math:
        """An expression in house order."""
        return cls(tree(expr))


@dataclass(frozen=True)
class Shape:
    """The shape of a tensor: ``V × E``."""

    dims: tuple[Expr, ...]


@dataclass(frozen=True)
class Code:
    """A name from the code, or something to type."""

    text: str


@dataclass(frozen=True)
class Strong:
    """Words that matter more than the rest."""

    text: str


Piece = str | Math | Shape | Code | Strong
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
        """Each line after the labels, with the sign before it: "=", or "+" where a long sum goes on."""
        *before, last = self.chain.steps
        fitting = [step for step in before if all(len(text(piece)) <= _LONGEST for piece in _pieces(step))]
        return [
            ("+" if index else "=", piece) for step in (*fitting, last) for index, piece in enumerate(_pieces(step))
        ]

    @property
    def crowded(self) -> bool:
        """Whether the labels want a line of their own."""
        labels = sum(len(text(label)) for label in self.chain.labels)
        return len(self.chain.labels) > 1 and labels + len(text(self.rows[0][1])) > _LONGEST


@dataclass(frozen=True)
class Table:
    """A table. Alignment is one letter a column: l, r or c. ``total`` sets the last row apart."""

    head: Sequence[Line]
    rows: Sequence[Sequence[Line]]
    align: str
    total: bool = False
    kind: Literal["table"] = "table"

    @property
    def wide(self) -> bool:
        """Whether its longest cells, side by side, need a smaller type."""
        columns = zip(*self.rows, strict=True)
        return sum(max(sum(map(_length, cell)) for cell in column) for column in columns) > _WIDE


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


_WIDE = 78  # characters in a row of a table
_WIDTH = 60  # characters of mathematics in one line, as plain text
_LONGEST = 72  # of one term: a step on the way that has a longer one fits no line, and is left out


def _length(piece: Piece) -> int:
    """The characters of a piece of a line, as plain text."""
    match piece:
        case str():
            return len(piece)
        case Math(shown):
            return len(text(shown))
        case Shape(factors):
            return sum(len(text(factor)) + 3 for factor in factors)
        case Code(words) | Strong(words):
            return len(words)


def _pieces(shown: Tree) -> list[Tree]:
    """A long sum in pieces that each fit a line."""
    if not isinstance(shown, Sum) or len(text(shown)) <= _WIDTH:
        return [shown]
    pieces: list[list[Tree]] = [[]]
    width = 0
    for term in shown.terms:
        length = len(text(term)) + 3
        if pieces[-1] and width + length > _WIDTH:
            pieces.append([])
            width = 0
        pieces[-1].append(term)
        width += length
    return [terms_tree(piece) for piece in pieces]
