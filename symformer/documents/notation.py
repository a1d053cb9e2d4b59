"""The symbols of a document: every letter and every function has one meaning, and every one that occurs has one.

A name of the document, such as a size, a weight or the total of a part, means the same everywhere. A local name, such
as ``h``, belongs to one part, and is never a name of the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sympy import expand

from ..language.errors import DocumentError
from ..language.notation.display_tree import Applied, Label, ModuleCall, Size, TensorName, Tree, nodes, sizes_of
from ..language.notation.emitter import under
from ..language.notation.text import text
from ..language.symbols import letter
from ..output.blocks import (
    Block,
    Computation,
    Equation,
    Line,
    Math,
    Paragraph,
    Table,
    computations_of,
    formulas_in,
    lines,
    plain,
)
from .legend import SUBSCRIPTS, words_in
from .legend_entries import ROWS
from .tensor_notation import STACKS

STANDARD = {"exp", "log", "max", "tanh", "x", "W", "b"}  # functions of every textbook, and what all computations use
LOCAL = {
    "m",
    "m_1",
    "m_2",
    "ρ",
    "ξ",
    "θ",
    *(f"{each}_n" for each in STACKS),
}  # explained letters that some parts compute and others read


@dataclass
class SymbolTable:
    """The names of a document, each with its meaning."""

    meanings: dict[str, str] = field(default_factory=dict)  # of names of the document
    local: set[str] = field(default_factory=set)  # names that belong to one part

    def define(self, name: str, meaning: str) -> None:
        """Define a name of the document.

        Raises
        ------
        DocumentError
            If the name has another meaning, or is a local one.

        Examples
        --------
        >>> table = SymbolTable()
        >>> table.define("E", "hidden size")
        >>> table.define("E", "experts")
        Traceback (most recent call last):
        ...
        symformer.language.errors.DocumentError: E has two meanings in one document: hidden size, and experts

        """
        before = self.meanings.setdefault(name, meaning)
        if before != meaning:
            raise DocumentError(f"{name} has two meanings in one document: {before}, and {meaning}")
        self._check_scope(name)

    def define_local(self, name: str) -> None:
        """Define a name that belongs to one part. Raises DocumentError if it is a name of the document."""
        self.local.add(name)
        self._check_scope(name)

    def _check_scope(self, name: str) -> None:
        if name in self.local and name in self.meanings:
            raise DocumentError(
                f"{name} has two meanings in one document: {self.meanings[name]}, and a result of a single part"
            )

    def use(self, name: str) -> None:
        """Raise DocumentError if a name of the document has no meaning."""
        if name not in self.meanings:
            raise DocumentError(f"{name} has no meaning in a document that uses it")


def symbols_of(blocks: Sequence[Block]) -> SymbolTable:
    """Return the symbols of a document.

    Raises
    ------
    DocumentError
        If a symbol has two meanings or none, or if a line is empty.

    """
    table = SymbolTable()
    for block in blocks:
        for name, meaning in _defined(block):
            table.define(name, meaning)
        for line in (line for computation in computations_of(block) for line in computation.lines):
            for each in nodes(line.name):
                if isinstance(each, TensorName):
                    table.define_local(text(each))
            for each in nodes(line.shown):
                if isinstance(each, ModuleCall):
                    table.define(_name(each), f"the module {each.function}")
    for block in blocks:
        _check_lines(block)
        for name in _used(block):
            table.use(name)
    return table


def _name(shown: Tree) -> str:
    """Return the name of a size, of a label, of a tensor or of a function; equal names look alike."""
    match shown:
        case Size(symbol):
            row = letter(symbol)
            return f"{row.base}_{row.subscript}" if row.subscript else row.base
        case Label(own, name, _):
            base, below = under(own, name)
            return f"{base}_{below}" if below else base
        case Applied(function, _, below):
            return f"{function}_{text(below)}" if below else function
    return text(shown)


def _defined(block: Block) -> Iterator[tuple[str, str]]:
    """Yield the names of the document that a block defines, each with its meaning."""
    match block:
        case Table(head=[["Symbol"], *_], rows=rows) | Table(head=[["Notation"], ["Meaning"]], rows=rows):
            for first, meaning, *_ in rows:
                for piece in first:
                    if isinstance(piece, Math) and _name(piece.shown) not in LOCAL:
                        yield _name(piece.shown), plain(meaning)
        case Table(rows=rows):
            for piece, after in (pair for row in rows for cell in row for pair in pairwise(cell)):
                if isinstance(piece, Math) and isinstance(piece.shown, Label) and after == " = ":
                    yield _name(piece.shown), _total(piece.shown)
        case Paragraph(notation=notation) if notation:
            for shown, meaning in notation:
                if _name(shown) not in LOCAL:
                    yield _name(shown), meaning
        case Paragraph(line=line, defines=True):
            for before, piece, after in zip(("", *line), line, line[1:], strict=False):
                match piece:
                    case Math(Label() as stated):
                        yield _name(stated), _total(stated)
                    case Math(Size() as size) if isinstance(after, str) and before != " = ":
                        yield _name(size), after.strip(" ,;.")
        case Equation(chain=chain):
            for label in (each for shown in chain.labels for each in nodes(shown)):  # such as N, or N/(BS) if divided
                if isinstance(label, Label):
                    yield _name(label), _total(label)


def _total(label: Label) -> str:
    """Return the meaning of the label of a part, whose total it stands for, or of the whole."""
    return str(expand(label.stands_for)) if label.name else "the total"


def _used(block: Block) -> Iterator[str]:
    """Yield the names that a block uses, without functions and letters that the legend explains."""
    for shown in formulas_in([block]):
        yield from (_name(Size(size)) for size in sizes_of(shown))
        if isinstance(block, Equation):
            yield from (_name(each) for each in nodes(shown) if isinstance(each, Label))
    for computation in computations_of(block):
        lines = computation.lines
        called = {each.function for line in lines for each in nodes(line.shown) if isinstance(each, ModuleCall)}
        explained = {row.word for row in ROWS} | STANDARD | SUBSCRIPTS | called
        explained |= {name.letter for name, _, _ in computation.inputs if isinstance(name, TensorName)}
        yield from (word for word in words_in(computation) if word not in explained)


def _check_lines(block: Block) -> None:
    """Raise DocumentError for a paragraph, a heading, a row or a computation without content."""
    rows: Iterable[Sequence[Line]] = block.rows if isinstance(block, Table) else ()
    if any(not any(plain(cell).strip() for cell in row) for row in rows):
        raise DocumentError("a table of the document has an empty row")
    cells = isinstance(block, Table | Equation)
    if not cells and any(not plain(line).strip() for line in lines([block])):
        raise DocumentError("the document has an empty line")
    if isinstance(block, Computation) and not block.lines:
        raise DocumentError("the document has a computation without lines")
