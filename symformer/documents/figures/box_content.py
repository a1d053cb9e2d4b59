"""The inside of a box: its title, its formula broken into lines, its number and the bar of its share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sympy import Expr

from ...formulas.factorization import factored
from ...language.notation.display_tree import Minus, Sum, Tree, growth, ordered_terms, terms_tree, tree
from ...language.notation.text import number, percent
from ...output.blocks import Code, Line, Strong
from .expert_choice import choice_shapes
from .figure import Amount, Box, Frame
from .primitives import BLACK, GREY, LEADING, SMALL, Rect, Shape, Words, has_subscript
from .slashed_fractions import one_line
from .text_width import Ruler

TITLE, FORMULA = 7.2, 7.2  # font sizes
PAD = 4.0
DEEPER = 1.0  # below a last line with a subscript
BAR = 2.6
THINNEST = 0.3  # the shortest bar that is drawn
MOST = 4  # lines of one formula
TITLE_LINES = 3  # the most lines of a title
_BREAK = re.compile(r"(?<=\w)-(?=\w)| |$")  # where a title may continue on the next line
HEAVY = 1.4  # the stroke around a part that differs from another model
FADED = "#777777"  # the edge of a part that does not
# Tints and inks by role, with the colours of Okabe and Ito. The title of a box carries the same information.
TINTS = {
    "embeddings": ("#FBEFD2", "#E69F00"),
    "attention": ("#D3E6F2", "#0072B2"),
    "state-space mixer": ("#FBE0D2", "#D55E00"),
    "linear attention": ("#DDF0FA", "#56B4E9"),
    "recurrent block": ("#F3DDD6", "#B03A00"),
    "MLP": ("#D2ECE4", "#009E73"),
    "norms": ("#F7F4DA", "#9C9200"),
    "head": ("#F5E3ED", "#CC79A7"),
    "other": ("#F2F2F2", "#777777"),
}


@dataclass(frozen=True)
class BoxContent:
    """The shapes in a box, relative to its top left corner, and its size."""

    shapes: Sequence[Shape]
    width: float
    height: float


def break_formula(expr: Expr, room: float, ruler: Ruler) -> list[Line]:
    """Return a formula broken into lines, factored if that is shorter.

    A very long formula is reduced to its leading terms and the number of other terms.
    """
    terms = [tree(term) for term in ordered_terms(expr)]
    lines = _packed(terms, room, ruler)
    if len(lines) > 1:
        shown = factored(expr)
        shorter = _packed(shown.terms if isinstance(shown, Sum) else [shown], room, ruler)
        fits = all(ruler.width(line, FORMULA) <= room for line in shorter)
        if fits and (len(shorter), _extent(shorter, ruler)) < (len(lines), _extent(lines, ruler)):
            lines = shorter
    if len(lines) <= MOST:
        return lines
    top = max(growth(term) for term in ordered_terms(expr))
    kept = [tree(term) for term in ordered_terms(expr) if growth(term) == top]
    for count in range(len(kept), 0, -1):
        lines = _packed(kept[:count], room, ruler)
        if len(lines) < MOST or count == 1:
            return [*lines, [f"+ {len(terms) - count} more terms"]]
    return lines


def _packed(terms: Sequence[Tree], room: float, ruler: Ruler) -> list[Line]:
    lines: list[list[Tree]] = [[]]
    for term in terms:
        if lines[-1] and ruler.width(_joined([*lines[-1], term], len(lines) > 1), FORMULA) > room:
            lines.append([])
        lines[-1].append(term)
    return [_joined(line, place > 0) for place, line in enumerate(lines)]


def _extent(lines: Sequence[Line], ruler: Ruler) -> float:
    return sum(ruler.width(line, FORMULA) for line in lines)


def _joined(terms: Sequence[Tree], goes_on: bool) -> Line:
    whole = one_line(terms_tree(list(terms)))
    return whole if not goes_on or isinstance(terms[0], Minus) else ["+ ", *whole]


def shorten(piece: Code | Strong, room: float, ruler: Ruler, size: float) -> Line:
    """Return a name; if it does not fit, without the first words of its path, or else shortened in the middle."""
    words, width = piece.text, ruler.width([piece], size)
    if width <= room or len(words) < 4:
        return [piece]
    path = words.split(".") if isinstance(piece, Code) else []
    for start in range(1, len(path)):
        ending = Code(f"…{'.'.join(path[start:])}")
        if ruler.width([ending], size) <= room:
            return [ending]
    keep = max(2, int(len(words) * room / width) - 2)
    return [type(piece)(f"{words[: keep // 3]}…{words[len(words) - (keep - keep // 3) :]}")]


def amount_text(amount: Amount) -> str:
    """Return the number and the share as text."""
    if amount.value is None:
        return ""
    said = number(amount.value)
    return said if amount.share is None else f"{said} · {percent(amount.share)}"


def marked(words: Words, amount: Amount, key: str) -> Words:
    """Return words with the mark of the amount of a part, if they state it."""
    return replace(words, mark=f"amount {key}") if words.line == [amount_text(amount)] else words


def box_content(box: Box, width: float, ruler: Ruler, height: float = 0.0) -> BoxContent:
    """Return the look of a box with the given width and minimum height."""
    faded = box.differs is False  # equal in both models
    tint, ink = TINTS["other"] if faded else TINTS.get(box.role, TINTS["other"])
    inner = width - 2 * PAD
    rows = _one_line(box, inner, ruler) or _lines(box, inner, ruler)
    shapes: list[Shape] = []
    y = PAD - 1
    for row, height in rows:
        y += height
        shapes += [
            marked(words, box.amount, box.key).moved(PAD, y - (LEADING - 6.6) / 2 - (height - LEADING) / 2)
            for words in row
        ]
    if box.experts is not None:
        found, high = choice_shapes(box.experts, inner, ink, ruler)
        shapes += [shape.moved(PAD, y + 1) for shape in found]
        y += high
    filled = inner * float(box.amount.share or 0) if box.amount.shown != 0 else 0.0
    barred = filled >= THINNEST
    y += DEEPER if any(has_subscript(words.line) for words in rows[-1][0]) and box.experts is None else 0
    y = max(y + PAD - 2, height - (BAR + 3) * barred)
    if barred:
        shapes.append(Rect(PAD, y, inner, BAR, fill="#FFFFFF", stroke=0.3))
        shapes.append(Rect(PAD, y, filled, BAR, fill=ink, stroke=0, mark=f"bar {box.key}"))
        y += BAR + 3
    edge = FADED if faded else BLACK
    back = Rect(
        0, 0, width, y, fill=tint, ink=edge, stroke=HEAVY if box.differs else 0.5, radius=2.2, mark=f"box {box.key}"
    )
    return BoxContent([back, *shapes], width, y)


Rows = list[tuple[list[Words], float]]


def title_lines(node: Box | Frame, ruler: Ruler, room: float) -> list[Line]:
    """Return the title of a node, or its name if it has no title, on up to three lines."""
    before: Line = ["≠ "] if node.differs else []
    before = [*before, *one_line(tree(node.times)), " × "] if isinstance(node, Box) and node.times != 1 else before
    left = room - ruler.width(before, TITLE)
    if not node.title:
        return [[*before, *shorten(Code(node.name), left, ruler, TITLE)]]
    lines: list[Line] = []
    words = node.title
    while words:
        space = room if lines else left
        ends = [match.end() for match in _BREAK.finditer(words)]
        fitting = [end for end in ends if ruler.width([Strong(words[:end].strip())], TITLE) <= space]
        end = len(words) if len(lines) == TITLE_LINES - 1 else max(fitting, default=ends[0])
        lines.append(shorten(Strong(words[:end].strip()), space, ruler, TITLE))
        words = words[end:]
    return [[*before, *lines[0]], *lines[1:]]


def _one_line(box: Box, inner: float, ruler: Ruler) -> Rows:
    """Return the content of a small box, or of one without a number, on one line; empty if it does not fit."""
    small = box.role == "norms" or (box.role == "other" and box.amount.shown == 0)
    if box.notes or box.experts or not (small or box.amount.value is None):
        return []
    title, *more = title_lines(box, ruler, inner)
    name: Line = [Code(box.name)] if box.title and box.name else []
    formula: Line = one_line(tree(box.amount.shown)) if box.amount.shown != 0 and box.amount.stated else []
    said: Line = [amount_text(box.amount)] if box.amount.shown != 0 and amount_text(box.amount) else []
    sizes = (TITLE, SMALL, FORMULA, SMALL)
    widths = [ruler.width(line, size) for line, size in zip((title, name, formula, said), sizes, strict=True)]
    if more or sum(widths) + 6 * sum(width > 0 for width in widths[1:]) > inner:
        return []
    row = [Words(0, 0, title, widths[0], TITLE)]
    right = inner
    if said:
        row.append(Words(right, 0, said, widths[3], SMALL, "right"))
        right -= widths[3] + 6
    if formula:
        row.append(Words(right, 0, formula, widths[2], FORMULA, "right"))
        right -= widths[2] + 6
    if name:
        row.append(Words(widths[0] + 5, 0, name, widths[1], SMALL, "left", GREY))
    return [(row, LEADING)]


def _lines(box: Box, inner: float, ruler: Ruler) -> Rows:
    titles = title_lines(box, ruler, inner)
    rows: Rows = [([Words(0, 0, line, ruler.width(line, TITLE), TITLE)], LEADING) for line in titles]
    if box.title and box.name:
        name: Line = [Code(box.name)]
        if rows[-1][0][0].width + 5 + ruler.width(name, SMALL) <= inner:
            rows[-1][0].append(Words(inner, 0, name, ruler.width(name, SMALL), SMALL, "right", GREY))
        else:
            name = shorten(Code(box.name), inner, ruler, SMALL)
            rows.append(([Words(0, 0, name, ruler.width(name, SMALL), SMALL, "left", GREY)], LEADING - 1))
    rows += amount_lines(box.amount, inner, ruler)
    for note in box.notes:
        rows += [
            ([Words(0, 0, line, ruler.width(line, SMALL), SMALL)], LEADING - 1) for line in fit_line(note, inner, ruler)
        ]
    return rows


def amount_lines(amount: Amount, inner: float, ruler: Ruler, said: str | None = None) -> Rows:
    """Return the rows of a formula and its number, which follows the last line of the formula if there is room."""
    if amount.shown == 0:
        return []
    rows: Rows = []
    for terms in break_formula(amount.shown, inner, ruler) if amount.stated else ():
        width, size = ruler.width(terms, FORMULA), FORMULA
        if width > inner:  # a single term that is wider than a line
            width, size = inner, FORMULA * inner / width * 0.99
        rows.append(([Words(0, 0, terms, width, size)], LEADING))
    value = amount_text(amount) if said is None else said
    width = ruler.width([value], SMALL)
    if value and rows and rows[-1][0][0].width + 6 + width <= inner:
        rows[-1][0].append(Words(inner, 0, [value], width, SMALL, "right"))
    elif value:
        for line in [value] if width <= inner else value.split(" · "):
            rows.append(([Words(inner, 0, [line], ruler.width([line], SMALL), SMALL, "right")], LEADING - 1))
    return rows


def fit_line(line: Line, room: float, ruler: Ruler) -> list[Line]:
    """Return a small line; if it is too long, one line per piece, with names shortened."""
    if ruler.width(line, SMALL) <= room:
        return [line]
    found: list[Line] = []
    for piece in line:
        if isinstance(piece, Code):
            found.append(shorten(piece, room, ruler, SMALL))
        elif isinstance(piece, str):
            found += wrap_prose(piece, room, ruler)
        else:
            found.append([piece])
    return found


def wrap_prose(prose: str, room: float, ruler: Ruler) -> list[Line]:
    """Return prose wrapped to the given width."""
    lines = [""]
    for word in prose.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and ruler.width([longer], SMALL) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return [[line] for line in lines if line]
