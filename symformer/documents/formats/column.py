"""A column of a two-column page: mathematics broken at its signs, inside brackets too, and tables that share its width.

Widths are in characters of prose, as in layout.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...language.notation.emitter import under
from ...language.notation.latex import LatexEmitter, upright
from ...language.notation.tree import Fraction, Label, Minus, Product, Sum, Times, Tree
from ..blocks import Cited, Code, Line, Math, Ref, Strong, Table
from .layout import breadth, extent
from .letters import WIDE, lettered, wide

ROOM = 37  # of an equation in the type of the text, in the narrowest usual column: 200 pt, of article at 10 pt
TYPES = {"": 1.0, r"\small": 0.9, r"\footnotesize": 0.8, r"\scriptsize": 0.7}
CELLS = {r"\footnotesize": 46, r"\scriptsize": 52}  # of a row of a table
GAP = 1.3  # between two columns
NAME = 36  # of a name below a letter
WORD = 24  # of prose
RUN = 14  # characters of a name that stand together
LINES = 22  # of a table, before it goes on as another one
_SIGNS = {"+": 3, "-": 3, r"\cdot": 2, r"\big/": 1, "": 0}


class _Narrow(LatexEmitter):
    """LaTeX in which a long name below a letter stands on several lines."""

    def label(self, letter: str, name: str) -> str:
        if wide(name) <= NAME:
            return super().label(letter, name)
        base, below = under(letter, "")
        lines = [below + ", "] if below else [""]
        for word in runs(name):
            for part in [word] if wide(word) == len(word) else word:
                if wide(lines[-1]) + wide(part) > NAME:
                    lines.append("")
                lines[-1] += part
        lines = [r",\,".join(map(upright, line.split(", "))) for line in lines]
        stacked = r" \\ ".join(rf"\mathrm{{{line}}}" for line in lines)
        return rf"{base}_{{\substack{{{stacked}}}}}"


_NARROW = _Narrow()


def latex(shown: Tree) -> str:
    """Mathematics for a column, its letters such as LaTeX has them."""
    return lettered(_NARROW.emit(shown))


def across(shown: Tree) -> int:
    """The room of mathematics, in which a name below a letter is small."""
    if isinstance(shown, Label):
        return 2 + (8 * min(wide(shown.name) + len(shown.letter) - 1, NAME) + 9) // 10
    return breadth(shown)


@dataclass(frozen=True)
class Chunk:
    """What stands on one line: the sign it goes on with, its LaTeX, its width, and how many brackets it is inside."""

    sign: str
    spelt: str
    width: int
    depth: int = 0


def chunks(shown: Tree, room: int) -> list[Chunk]:
    """An expression in pieces that each fit a line, as far as its signs and brackets let it."""
    if not isinstance(shown, Sum | Minus) and across(shown) <= room:
        return [Chunk("", latex(shown), across(shown))]
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
        case Fraction(above, below):
            first, *rest = _bracketed(chunks(below, room - 2))
            return [*_bracketed(chunks(above, room - 2)), replace(first, sign=r"\big/"), *rest]
    return [Chunk("", latex(shown), across(shown))]


def _signed(term: Tree, room: int, first: bool) -> list[Chunk]:
    sign, operand = ("-", term.operand) if isinstance(term, Minus) else ("+", term)
    if not isinstance(operand, Sum | Minus):
        head, *rest = chunks(operand, room)
    elif across(operand) + 2 <= room:  # brackets that fit a line are not broken
        head, *rest = _bracketed([Chunk("", latex(operand), across(operand))])
    else:
        head, *rest = _bracketed(chunks(operand, room - 2))
    if first and sign == "+":
        return [head, *rest]
    return [replace(head, spelt=f"-{head.spelt}") if first else replace(head, sign=sign), *rest]


def _factors(factors: Sequence[Tree], room: int, dotted: bool) -> Iterator[Chunk]:
    """Factors one after the other; a dot where a line may end between them, and none before a bracket."""
    lead = ""
    for place, factor in enumerate(factors):
        sum_of = isinstance(factor, Sum | Minus)
        found = _bracketed(chunks(factor, room - 2)) if sum_of else chunks(factor, room)
        if not dotted and not sum_of and place + 1 < len(factors):
            lead += f"{found[0].spelt} "  # stands with what comes next
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


def filled(found: Sequence[Chunk], room: int) -> list[tuple[str, int]]:
    """Lines that the pieces fill, each as LaTeX with its width; one that goes on stands further in."""
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
    """How a table stands in a column: its type, and for each of its columns a share of the width, or 0 for its own."""

    type: str
    shares: tuple[float, ...]
    room: int


def fit(table: Table) -> Fit | None:
    """The largest type in which a table fits, with its wide columns wrapped; None where it fits in none."""
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
    """The width of the longest piece of a line that nothing breaks."""
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
                widths += [breadth(term) + 2 * (len(terms) > 1) for term in terms]
            case Cited() | Ref():
                widths.append(len("[10]"))
    return max(widths)


def _unbroken(run: str) -> int:
    """The width of a run, which may be broken between letters that are told by their numbers."""
    return len(run) if wide(run) == len(run) else max(WIDE, len(run))


def pieces(word: str) -> list[str]:
    """A word of prose in one piece, unless it is longer than any that is written."""
    return runs(word) if len(word) > WORD else [word]


def runs(name: str) -> list[str]:
    """A name in pieces after each of which a line may end.

    >>> runs("h.*.attn.resid_dropout"), runs("EncoderSelfAttention")
    (['h.*.', 'attn.', 'resid_', 'dropout'], ['Encoder', 'Self', 'Attention'])
    >>> runs("x" * 20)
    ['xxxxxxxxxxxxxx', 'xxxxxx']
    """
    words = re.findall(r"(?:[^._/:=,-]*[._/:=,-]|[^._/:=,-]+)(?:\*\.?)?", name)
    words = [part for word in words for part in (re.split(r"(?<=[a-z])(?=[A-Z])", word) if len(word) > RUN else [word])]
    return [word[start : start + RUN] for word in words for start in range(0, len(word), RUN)]


def split(table: Table, found: Fit) -> list[Table]:
    """A table as several, each of which stands in a column."""
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
