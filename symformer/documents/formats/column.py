"""Layout for a column of a two-column page: line breaks in mathematics, also inside brackets, and narrow tables.

Widths are in characters of prose, as in page_layout.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...language.notation.display_tree import (
    Applied,
    FractionNode,
    Label,
    Minus,
    Pointwise,
    Product,
    Sum,
    Times,
    Tree,
)
from ...language.notation.emitter import under
from ...language.notation.latex import LatexEmitter, upright
from ...output.blocks import Cited, Code, EquationNumber, Line, Math, Ref, Strong, Table
from .missing_glyphs import WIDE, replace_missing_letters, text_width
from .page_layout import breadth, extent

ROOM = 37  # of an equation in normal type, in the narrowest usual column: 200 pt in the 10 pt article class
TYPES = {"": 1.0, r"\small": 0.9, r"\footnotesize": 0.8, r"\scriptsize": 0.7}
CELLS = {r"\footnotesize": 46, r"\scriptsize": 52}  # width of a row of a table
GAP = 1.3  # between two columns
NAME = 36  # width of a subscript name
WORD = 24  # characters of an unbroken word of prose
RUN = 14  # characters of an unbroken piece of a name
LINES = 22  # of a table, before it is split
_SIGNS = {"+": 3, "-": 3, r"\cdot": 2, r"\odot": 3, r"\big/": 1, "": 0}


class _Narrow(LatexEmitter):
    """A LaTeX emitter that breaks long subscript names into several lines."""

    def label(self, letter: str, name: str) -> str:
        if text_width(name) <= NAME:
            return super().label(letter, name)
        base, below = under(letter, "")
        lines = [below + ", "] if below else [""]
        for word in runs(name):
            for part in [word] if text_width(word) == len(word) else word:
                if text_width(lines[-1]) + text_width(part) > NAME:
                    lines.append("")
                lines[-1] += part
        lines = [r",\,".join(map(upright, line.split(", "))) for line in lines]
        stacked = r" \\ ".join(rf"\mathrm{{{line}}}" for line in lines)
        return rf"{base}_{{\substack{{{stacked}}}}}"


_NARROW = _Narrow()


def latex(shown: Tree) -> str:
    """Return LaTeX mathematics for a column, with letters that LaTeX supports."""
    return replace_missing_letters(_NARROW.emit(shown))


def math_width(shown: Tree) -> int:
    """Return the width of mathematics, with small subscript names."""
    if isinstance(shown, Label):
        return 2 + (8 * min(text_width(shown.name) + len(shown.letter) - 1, NAME) + 9) // 10
    return breadth(shown)


@dataclass(frozen=True)
class Chunk:
    """An unbroken piece of a line: its leading sign, its LaTeX, its width, and its bracket depth."""

    sign: str
    spelt: str
    width: int
    depth: int = 0


def chunks(shown: Tree, room: int) -> list[Chunk]:
    """Split an expression into pieces that each fit a line, as far as its signs and brackets allow."""
    if not isinstance(shown, Sum | Minus) and math_width(shown) <= room:
        return [Chunk("", latex(shown), math_width(shown))]
    match shown:
        case Sum(terms):
            found: list[Chunk] = []
            for term in terms:
                found += _signed(term, room, first=not found)
            return found
        case Minus():
            return _signed(shown, room, first=True)
        case Product(factors) | Times(factors):
            return list(_factors(factors, room, isinstance(shown, Times)))
        case Pointwise(factors):
            found = []
            for factor in factors:
                head, *rest = chunks(factor, room - 2)
                found += [replace(head, sign=r"\odot") if found else head, *rest]
            return found
        case Applied(_, (_, _, *_) as arguments):
            return _arguments(shown, arguments)
        case FractionNode(above, below):
            first, *rest = _bracketed(chunks(below, room - 2))
            return [*_bracketed(chunks(above, room - 2)), replace(first, sign=r"\big/"), *rest]
    return [Chunk("", latex(shown), math_width(shown))]


def _arguments(shown: Tree, arguments: Sequence[Tree]) -> list[Chunk]:
    """Return a function of several arguments, each a piece; a line may break after a comma."""
    spelt, inside = latex(shown), [latex(each) for each in arguments]
    before, found, after = spelt.partition(", ".join(inside))
    if not found:
        return [Chunk("", spelt, math_width(shown))]
    rest = math_width(shown) - sum(map(math_width, arguments)) - 2 * len(arguments)  # the name and the brackets
    pieces = [
        Chunk("", f"{each},", math_width(argument) + 2, depth=1)
        for each, argument in zip(inside, arguments, strict=True)
    ]
    first, last = pieces[0], pieces[-1]
    pieces[0] = replace(first, spelt=before + first.spelt, width=first.width + rest, depth=0)
    pieces[-1] = replace(last, spelt=last.spelt.removesuffix(",") + after)
    return pieces


def _signed(term: Tree, room: int, first: bool) -> list[Chunk]:
    sign, operand = ("-", term.operand) if isinstance(term, Minus) else ("+", term)
    if not isinstance(operand, Sum | Minus):
        head, *rest = chunks(operand, room)
    elif math_width(operand) + 2 <= room:  # brackets that fit a line are not broken
        head, *rest = _bracketed([Chunk("", latex(operand), math_width(operand))])
    else:
        head, *rest = _bracketed(chunks(operand, room - 2))
    if first and sign == "+":
        return [head, *rest]
    return [replace(head, spelt=f"-{head.spelt}") if first else replace(head, sign=sign), *rest]


def _factors(factors: Sequence[Tree], room: int, dotted: bool) -> Iterator[Chunk]:
    """Yield factors, with a dot where a line may break between them, except before a bracket."""
    lead = ""
    for place, factor in enumerate(factors):
        sum_of = isinstance(factor, Sum | Minus | Pointwise)
        found = _bracketed(chunks(factor, room - 2)) if sum_of else chunks(factor, room)
        if not dotted and not sum_of and place + 1 < len(factors):
            lead += f"{found[0].spelt} "  # joined to the next factor
            continue
        head = found[0]
        found[0] = replace(
            head, spelt=lead + head.spelt, width=head.width + len(lead), sign=r"\cdot" * bool(place and not lead)
        )
        lead = ""
        yield from found


def _bracketed(found: list[Chunk]) -> list[Chunk]:
    tall = any(r"\frac" in each.spelt for each in found)
    left, right = (r"\bigl(", r"\bigr)") if tall else ("(", ")")
    found = [replace(each, depth=each.depth + bool(place)) for place, each in enumerate(found)]
    found[0] = replace(found[0], spelt=left + found[0].spelt, width=found[0].width + 1)
    found[-1] = replace(found[-1], spelt=found[-1].spelt + right, width=found[-1].width + 1)
    return found


def fill_lines(found: Sequence[Chunk], room: int) -> list[tuple[str, int]]:
    """Fill lines with pieces; return each line as LaTeX with its width. Continuation lines are indented."""
    lines: list[tuple[str, int]] = []
    spelt, width = "", 0
    for each in found:
        sign = f" {each.sign} " if each.sign else ""
        more = _SIGNS[each.sign] + each.width
        if spelt and width + more > room:
            lines.append((spelt, width))
            indent = 2 + 2 * min(each.depth, 2)
            spelt, width = r"\quad" * (indent // 2) + " {}" + sign + each.spelt, indent + more
        else:
            spelt, width = spelt + sign + each.spelt, width + more
    return [*lines, (spelt, width)]


@dataclass(frozen=True)
class Fit:
    """The layout of a table in a column: its type, and the width share of each column, or 0 for natural width."""

    type: str
    shares: tuple[float, ...]
    room: int


def fit(table: Table) -> Fit | None:
    """Return the layout in the largest type that fits, with wide columns wrapped, or None if none fits."""
    columns = list(zip(table.head, *table.rows, strict=True))
    natural = [max(map(extent, column)) for column in columns]
    least = [max(map(narrowest, column)) for column in columns]
    for type_, room in CELLS.items():
        widths, free = list(natural), room - GAP * (len(columns) - 1)
        wraps = [place for place, kind in enumerate(table.align) if kind in "lw" and least[place] < natural[place]]
        while sum(widths) > free:
            if not (left := [place for place in wraps if widths[place] > least[place]]):
                break
            widths[max(left, key=widths.__getitem__)] -= 1
        else:
            return Fit(type_, tuple(w / room if w < n else 0 for w, n in zip(widths, natural, strict=True)), room)
    return None


def narrowest(line: Line) -> int:
    """Return the width of the longest unbreakable piece of a line."""
    widths = [0]
    for piece in line:
        match piece:
            case str() | Strong():
                words = piece if isinstance(piece, str) else piece.text
                widths += [_unbroken(each) for word in words.split() for each in pieces(word)]
            case Code(text):
                widths += [_unbroken(run) for run in runs(text)]
            case Math(shown):
                terms = shown.terms if isinstance(shown, Sum) else (shown,)
                more = 2 * (len(terms) > 1 or isinstance(shown, Label))  # a sign, or the underscores of a path
                widths += [breadth(term) + more for term in terms]
            case Cited() | Ref() | EquationNumber():
                widths.append(len("[10]"))
    return max(widths)


def _unbroken(run: str) -> int:
    """Return the width of a run, which may be broken between letters written as code points."""
    return len(run) if text_width(run) == len(run) else max(WIDE, len(run))


def pieces(word: str) -> list[str]:
    """Return a word of prose in one piece, or split if it is unusually long."""
    return runs(word) if len(word) > WORD else [word]


def runs(name: str) -> list[str]:
    """Split a name into pieces after which a line may break.

    >>> runs("h.*.attn.resid_dropout"), runs("EncoderSelfAttention")
    (['h.*.', 'attn.', 'resid_', 'dropout'], ['Encoder', 'Self', 'Attention'])
    >>> runs("x" * 20)
    ['xxxxxxxxxxxxxx', 'xxxxxx']
    """
    words = re.findall(r"(?:[^._/:=,-]*[._/:=,-]|[^._/:=,-]+)(?:\*\.?)?", name)
    words = [part for word in words for part in (re.split(r"(?<=[a-z])(?=[A-Z])", word) if len(word) > RUN else [word])]
    return [word[start : start + RUN] for word in words for start in range(0, len(word), RUN)]


def split(table: Table, found: Fit) -> list[Table]:
    """Split a table into several that each fit a column."""
    parts: list[list[Sequence[Line]]] = [[]]
    lines = 0
    for row in table.rows:
        tall = max(
            -(-extent(cell) // max(int(share * found.room), 1)) if share else 1
            for cell, share in zip(row, found.shares, strict=True)
        )
        if parts[-1] and lines + tall > LINES:
            parts.append([])
            lines = 0
        parts[-1].append(row)
        lines += tall
    last = len(parts) - 1
    return [replace(table, rows=rows, total=table.total and place == last) for place, rows in enumerate(parts)]
