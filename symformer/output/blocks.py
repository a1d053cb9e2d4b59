"""The blocks of every answer: they hold its content; the terminal, notebooks and documents print them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Literal

from sympy import Expr, Integer

from ..language.errors import joined
from ..language.notation.display_tree import Cross, Tree, tree
from ..language.notation.text import text
from .chain import Chain

if TYPE_CHECKING:
    from ..documents.figures.primitives import Drawing


@dataclass(frozen=True)
class Math:
    """Mathematics within a line."""

    shown: Tree

    @classmethod
    def of(cls, expr: Expr) -> Math:
        """Return an expression with its terms in house order."""
        return cls(tree(expr))

    @classmethod
    def shape(cls, factors: Sequence[Expr], whole: bool = False) -> Math:
        """Return the shape of a tensor as a product such as ``V × E``, without factors of 1 unless it is ``whole``."""
        shown = tuple(tree(factor) for factor in factors if whole or factor != 1)
        return cls(shown[0] if len(shown) == 1 else Cross(shown) if shown else tree(Integer(1)))


@dataclass(frozen=True)
class Code:
    """A name from the code, or text to type."""

    text: str


def setting(name: str, choice: str) -> Code:
    """Return a convention or an option with its value, as ``--option`` takes it."""
    return Code(f"{name}={choice}")


@dataclass(frozen=True)
class Strong:
    """Emphasized words."""

    text: str


@dataclass(frozen=True)
class Cited:
    """A citation of a paper by its key; a document prints the paper's number in the references."""

    key: str
    number: int = 0


@dataclass(frozen=True)
class Ref:
    """A reference to an equation by its id; a document prints its number, with a link."""

    id: str
    number: int = 0


@dataclass(frozen=True)
class EquationNumber:
    """The number of an equation in a cell of a table; a reference to its id leads to this cell."""

    id: str
    number: int = 0


@dataclass(frozen=True)
class FloatSentence:
    """A sentence about a figure or a table, such as ``Figure 1 shows the architecture.``; left out without it.

    ``id`` is the id of the figure or table, ``words`` follow its number, and ``what`` is the word before the number. A
    sentence about several floats, such as ``Table 2 and Table 3 compare the models.``, has the others in ``further``.
    """

    id: str
    words: str
    number: int = 0
    what: Literal["Figure", "Table"] = "Figure"
    further: tuple[FloatSentence, ...] = ()


Piece = str | Math | Code | Strong | Cited | Ref | EquationNumber | FloatSentence
Line = Sequence[Piece]


@dataclass(frozen=True)
class Heading:
    """A section heading. Its anchor is the id of the formula derived in the section."""

    level: int  # 1, 2 or 3
    line: Line
    anchor: str = ""
    opens_page: bool = False  # whether it starts a new page
    kind: Literal["heading"] = "heading"


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of prose."""

    line: Line
    defines: bool = False  # whether each of its formulas is a symbol, before its meaning
    notation: Sequence[tuple[Tree, str]] = ()  # the notation that it explains, and the meaning of each
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True)
class Equation:
    """A chain of equal lines, aligned at the equals signs. ``key`` marks the main result of the document.

    An equation with an id is numbered and can be referenced.
    """

    chain: Chain
    key: bool = False
    id: str = ""  # the id of the formula in its last line
    reasons: Sequence[Line] = ()  # the reason for each line, if any
    number: int = 0
    kind: Literal["equation"] = "equation"

    @property
    def spoken(self) -> str:
        """The equation as plain text, for screen readers."""
        return " = ".join(map(text, (*self.chain.labels, *self.chain.steps)))


@dataclass(frozen=True)
class Assignment:
    """A line of a computation: the name of a result, its expression and its shape."""

    name: Tree
    shown: Tree
    shape: Tree
    times: Expr | None = None  # the number of repeated layers


@dataclass(frozen=True)
class Computation:
    """The computation of a part, line by line."""

    lines: Sequence[Assignment]
    # The inputs in addition to the first that have no letter of their own in all documents: each with its letter, its
    # meaning after "is" or "are", and its shape.
    inputs: Sequence[tuple[Tree, str, Tree]] = ()
    shared: Sequence[Assignment] = ()  # further lines, which it has in common with the computation before it
    kind: Literal["computation"] = "computation"

    @property
    def spoken(self) -> str:
        """The computation as plain text, for screen readers."""
        return "; ".join(f"{text(line.name)} = {text(line.shown)}, of shape {text(line.shape)}" for line in self.lines)


@dataclass(frozen=True)
class Table:
    """A table. Alignment is one letter per column: l, r, c, or w for a wide column of prose.

    A table with a caption is numbered. ``computations`` are the computations whose expressions its cells print.
    """

    head: Sequence[Line]
    rows: Sequence[Sequence[Line]]
    align: str
    total: bool = False  # whether the last row is the sum of the rows above
    caption: Line = ()
    number: int = 0
    id: str = ""  # for sentences about it
    branches: Sequence[tuple[str, str]] = ()  # of a tree, which the terminal draws: before each row's lines
    computations: Sequence[Computation] = ()
    kind: Literal["table"] = "table"

    @classmethod
    def of(
        cls,
        head: Sequence[str],
        rows: Iterable[Sequence[Piece]],
        align: str,
        *,
        total: bool = False,
        caption: Line = (),
    ) -> Table:
        """Return a table in which each cell is a single piece."""
        return cls([[name] for name in head], [[[cell] for cell in row] for row in rows], align, total, caption)

    def mention(self, words: str) -> FloatSentence:
        """Return a sentence about the table, which starts with its number."""
        return FloatSentence(self.id, words, what="Table")


@dataclass(frozen=True)
class References:
    """The list of references, in order of their numbers; each entry is key, byline, title, place."""

    entries: Sequence[tuple[str, str, str, str]]
    first: int = 1  # the number of the first entry, of a list that continues another one
    kind: Literal["references"] = "references"


@dataclass(frozen=True)
class Contents:
    """The table of contents."""

    kind: Literal["contents"] = "contents"


@dataclass(frozen=True)
class FigureBlock:
    """A figure, drawn on demand for a page or a screen; the drawing has alternative text."""

    draw: Callable[..., Drawing]  # called with the layout of the page, and a ruler
    caption: Line = ()
    id: str = ""
    number: int = 0
    # Draws it again with less and less detail. On a page, the first drawing that fits the rest of it is printed.
    overviews: Callable[..., Sequence[Drawing]] | None = None
    floats: bool = True  # whether a page may have it at its foot instead of between the text before and after it
    kind: Literal["picture"] = "picture"

    @property
    def fills(self) -> bool:
        """Whether it takes the rest of a page, or is omitted if that is too little."""
        return self.overviews is not None

    def mention(self, words: str) -> FloatSentence:
        """Return a sentence about the figure, which starts with its number."""
        return FloatSentence(self.id, words)


@dataclass(frozen=True)
class Exercise:
    """A question, with a number of ruled lines for the solution."""

    line: Line
    ruled: int
    kind: Literal["exercise"] = "exercise"


BriefBlock = Heading | Paragraph | Equation | Table  # the blocks that the terminal and notebooks print
Block = BriefBlock | Contents | Computation | References | FigureBlock | Exercise


@dataclass(frozen=True)
class Document:
    """A whole document; ``attached`` are the names and contents of files that a format can embed."""

    title: str
    subtitle: str
    blocks: Sequence[Block]
    keywords: Sequence[str] = ()
    attached: Sequence[tuple[str, str]] = ()
    one_page: bool = False  # whether a format with pages reduces its type so that it fits one page


def plain(line: Line, spell: Callable[[Tree], str] = text) -> str:
    """Return a line as plain text, with its mathematics spelt by ``spell``."""
    said = ""
    for piece in line:
        match piece:
            case str():
                said += piece
            case Math(shown):
                said += spell(shown)
            case Code(words) | Strong(words):
                said += words
            case Cited(key, number):
                said += f"[{number or key}]"
            case Ref(_, number) | EquationNumber(_, number):
                said += f"({number})"
            case FloatSentence(words=words, further=further):
                said += f"{joined([f'{each.what} {each.number}' for each in (piece, *further)])} {words}"
    return said


def listed(*notes: Line, last: str = " and ") -> list[Piece]:
    """Return notes joined as in a sentence: a, b and c."""
    joined: list[Piece] = []
    for index, note in enumerate(notes):
        joined += [last if index and index == len(notes) - 1 else ", " if index else "", *note]
    return [piece for piece in joined if piece != ""]


def maybe(said: object, *pieces: Piece) -> Line:
    """Return the pieces if ``said`` is true, else an empty line."""
    return pieces if said else ()


def capital(words: str) -> str:
    return words[0].upper() + words[1:]


def lines(blocks: Iterable[Block]) -> Iterator[Line]:
    """Yield every line of prose of these blocks, in reading order."""
    for block in blocks:
        match block:
            case Heading(line=line) | Paragraph(line=line) | Exercise(line=line):
                yield line
            case Table(head=head, rows=rows, caption=caption):
                yield from (caption, *head)
                for row in rows:
                    yield from row
            case Equation(reasons=reasons):
                yield from reasons
            case FigureBlock(caption=caption):
                yield caption


def computations_of(block: Block) -> Sequence[Computation]:
    """Return the computations of a block: itself, or the computations of a table."""
    match block:
        case Computation():
            return (block,)
        case Table(computations=computations):
            return computations
    return ()


def formulas_in(blocks: Iterable[Block]) -> Iterator[Tree]:
    """Yield all mathematics of these blocks, displayed and inline."""
    for block in blocks:
        if isinstance(block, Equation):
            yield from (*block.chain.labels, *block.chain.steps)
        if isinstance(block, Computation):
            for each in block.lines:
                yield from (each.name, each.shown, each.shape, *([tree(each.times)] if each.times is not None else []))
        for line in lines([block]):
            yield from (piece.shown for piece in line if isinstance(piece, Math))


def _equation_ids(block: Block) -> Iterator[str]:
    """Yield the ids of the numbered equations of a block: its own, or the ids in the cells of a table."""
    match block:
        case Equation(id=str(id)) if id:
            yield id
        case Table(rows=rows):
            pieces = (piece for row in rows for cell in row for piece in cell)
            yield from (piece.id for piece in pieces if isinstance(piece, EquationNumber))


def with_sentence(blocks: Sequence[Block], said: FloatSentence) -> list[Block]:
    """Return blocks with a sentence about a figure or table at the end of the last paragraph, or in its own."""
    if blocks and isinstance(blocks[-1], Paragraph):
        return [*blocks[:-1], replace(blocks[-1], line=[*blocks[-1].line, " ", said])]
    return [*blocks, Paragraph([said])]


def without_sentences(blocks: Iterable[Block], kept: Container[str] = ()) -> Iterator[Block]:
    """Yield blocks without the sentences about figures and tables, except those about the ones with these ids."""
    for block in blocks:
        if not isinstance(block, Paragraph):
            yield block
            continue
        line: list[Piece] = []
        for piece in block.line:
            if not isinstance(piece, FloatSentence) or piece.id in kept:
                line.append(piece)
            elif line and line[-1] == " ":
                line.pop()
        if line or not block.line:
            yield replace(block, line=line)


def numbered(blocks: Sequence[Block]) -> tuple[list[Block], list[str]]:
    """Return the blocks with numbered equations, tables, figures and citations, and the keys of the cited papers.

    Equations with an id and tables with a caption are numbered; papers are numbered in the order of citation. A
    sentence about a figure or table that is not among the blocks is left out.
    """
    drawn = [block.id for block in blocks if isinstance(block, FigureBlock)]
    laid = [block.id for block in blocks if isinstance(block, Table) and block.caption]
    floats = {each: number for several in (drawn, laid) for number, each in enumerate(several, 1) if each}
    blocks = [*without_sentences(blocks, floats)]
    keys = list(dict.fromkeys(piece.key for line in lines(blocks) for piece in line if isinstance(piece, Cited)))
    ids = [each for block in blocks for each in _equation_ids(block)]
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
            case EquationNumber(each):
                return EquationNumber(each, numbers[each])
            case FloatSentence(each, further=further):
                others = tuple(replace(other, number=floats[other.id]) for other in further)
                return replace(piece, number=floats[each], further=others)
        return piece

    def resolved(block: Block) -> Block:
        match block:
            case Heading(line=line) | Paragraph(line=line) | Exercise(line=line):
                return replace(block, line=put(line))
            case Table(head=head, rows=rows, caption=caption):
                found = replace(block, head=[*map(put, head)], rows=[[*map(put, row)] for row in rows])
                return replace(found, caption=put(caption), number=next(tables)) if caption else found
            case Equation(reasons=reasons):
                return replace(block, number=numbers.get(block.id, 0), reasons=[*map(put, reasons)])
            case FigureBlock(caption=caption):
                return replace(block, number=next(pictures), caption=put(caption))
        return block

    return [*map(resolved, blocks)], keys
