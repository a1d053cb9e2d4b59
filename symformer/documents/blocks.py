"""The blocks a document is made of. They say what stands there; a template says how it looks in one language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Literal

from sympy import Expr

from ..formulas.derivation import Chain
from ..language.notation.text import text
from ..language.notation.tree import Cross, Tree, tree
from ..ledger.facts import ONE

if TYPE_CHECKING:
    from .figures.shapes import Drawing


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
    number: int = 0


@dataclass(frozen=True)
class Ref:
    """An equation, by its id; a document prints the number that it has, and leads there."""

    id: str
    number: int = 0


Piece = str | Math | Code | Strong | Cited | Ref
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
    """A chain of equal lines, aligned at the equals signs. ``key`` marks the one that the document is about.

    One that has an id is numbered, and can be referred to.
    """

    chain: Chain
    key: bool = False
    id: str = ""  # of the formula that it ends with
    reasons: Sequence[Line] = ()  # why each line follows, where there is something to say
    number: int = 0
    kind: Literal["equation"] = "equation"

    @property
    def spoken(self) -> str:
        """In plain text, for who cannot see it."""
        return " = ".join(map(text, (*self.chain.labels, *self.chain.steps)))


@dataclass(frozen=True)
class Assignment:
    """A line of what is computed: the name it is given, how it is computed, and of which shape it is."""

    name: Tree
    shown: Tree
    shape: Tree
    times: Expr | None = None  # of layers that are repeated, how many


@dataclass(frozen=True)
class Computation:
    """What a part computes, line by line."""

    lines: Sequence[Assignment]
    kind: Literal["computation"] = "computation"

    @property
    def spoken(self) -> str:
        """In plain text, for who cannot see it."""
        return "; ".join(f"{text(line.name)} = {text(line.shown)}, of shape {text(line.shape)}" for line in self.lines)


@dataclass(frozen=True)
class Table:
    """A table. Alignment is one letter a column: l, r or c. ``total`` sets the last row apart.

    One that has a caption is numbered.
    """

    head: Sequence[Line]
    rows: Sequence[Sequence[Line]]
    align: str
    total: bool = False  # the last row is the sum of those above
    caption: Line = ()
    number: int = 0
    kind: Literal["table"] = "table"


@dataclass(frozen=True)
class References:
    """Papers, numbered in the order given: key, byline, title, place."""

    entries: Sequence[tuple[str, str, str, str]]
    kind: Literal["references"] = "references"


@dataclass(frozen=True)
class Contents:
    """Where the chapters of a document are listed."""

    kind: Literal["contents"] = "contents"


@dataclass(frozen=True)
class Picture:
    """A figure, drawn when it is asked for, for a page or a screen; what it draws says in words what it shows."""

    draw: Callable[..., Drawing]  # in a column of so many points, and at most so many in all; by a ruler
    caption: Line = ()
    id: str = ""
    number: int = 0
    kind: Literal["picture"] = "picture"


Block = Contents | Heading | Paragraph | Equation | Computation | Table | References | Picture


@dataclass(frozen=True)
class Document:
    """A whole document; ``attached`` are files that a format can carry with it: name and content."""

    title: str
    subtitle: str
    blocks: Sequence[Block]
    keywords: Sequence[str] = ()
    attached: Sequence[tuple[str, str]] = ()


def lines(blocks: Iterable[Block]) -> Iterator[Line]:
    """Every line of prose of some blocks, in the order they are read."""
    for block in blocks:
        match block:
            case Heading(line=line) | Paragraph(line=line):
                yield line
            case Table(head=head, rows=rows, caption=caption):
                yield from (caption, *head)
                for row in rows:
                    yield from row
            case Equation(reasons=reasons):
                yield from reasons
            case Picture(caption=caption):
                yield caption


def formulas_in(blocks: Iterable[Block]) -> Iterator[Tree]:
    """All mathematics of some blocks, in lines and by itself."""
    for block in blocks:
        if isinstance(block, Equation):
            yield from (*block.chain.labels, *block.chain.steps)
        if isinstance(block, Computation):
            for each in block.lines:
                yield from (each.name, each.shown, each.shape, *([tree(each.times)] if each.times is not None else []))
        for line in lines([block]):
            yield from (piece.shown for piece in line if isinstance(piece, Math))


def numbered(blocks: Sequence[Block]) -> tuple[list[Block], list[str]]:
    """The blocks with a number for each equation that has an id, each table that has a caption and each paper cited,
    and the keys of these papers in the order they are cited.
    """
    keys = list(dict.fromkeys(piece.key for line in lines(blocks) for piece in line if isinstance(piece, Cited)))
    ids = [block.id for block in blocks if isinstance(block, Equation) and block.id]
    numbers = {each: number for number, each in enumerate(ids, 1)}
    tables, pictures = count(1), count(1)

    def put(line: Line) -> Line:
        return [counted(piece) for piece in line]

    def counted(piece: Piece) -> Piece:
        match piece:
            case Cited(key):
                return Cited(key, keys.index(key) + 1)
            case Ref(each):
                return Ref(each, numbers[each])
        return piece

    def resolved(block: Block) -> Block:
        match block:
            case Heading(line=line) | Paragraph(line=line):
                return replace(block, line=put(line))
            case Table(head=head, rows=rows, caption=caption):
                found = replace(block, head=[*map(put, head)], rows=[[*map(put, row)] for row in rows])
                return replace(found, caption=put(caption), number=next(tables)) if caption else found
            case Equation(reasons=reasons):
                return replace(block, number=numbers.get(block.id, 0), reasons=[*map(put, reasons)])
            case Picture(caption=caption):
                return replace(block, number=next(pictures), caption=put(caption))
        return block

    return [*map(resolved, blocks)], keys
