r"""The mathematics of a LaTeX paper: every formula with its line and the words around it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

MOST = 5_000_000  # characters of a paper
AROUND = 240  # characters of text before a formula
SECTION = 2_500  # characters of text in which a quantity is looked for if these do not mention one
AFTER = 100  # characters of text after it
LONG = 2_000  # characters of one formula
_DISPLAYS = r"equation|align|alignat|flalign|gather|multline|eqnarray|displaymath|math|dmath"
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_VERBATIM = re.compile(r"\\begin\{(verbatim|lstlisting|minted)\*?\}.*?\\end\{\1\*?\}", re.DOTALL)
_MATH = re.compile(
    rf"\\begin\{{(?P<env>{_DISPLAYS})(?P<star>\*?)\}}(?P<display>.*?)\\end\{{(?P=env)(?P=star)\}}"
    r"|\\\[(?P<bracket>.*?)\\\]|(?<!\\)\$\$(?P<dollars>.*?)(?<!\\)\$\$"
    r"|\\\((?P<round>.*?)\\\)|(?<!\\)\$(?P<inline>[^$]+?)(?<!\\)\$",
    re.DOTALL,
)
_TABLE = re.compile(r"\\begin\{(tabular[x*]?|array)\}.*?\\end\{\1\}", re.DOTALL)
_CAPTION = re.compile(r"\\caption(?:\[[^\]]*\])?\{(.{0,600})", re.DOTALL)
_MACRO = re.compile(r"\\(?:re)?newcommand\*?\s*\{?\\([A-Za-z]+)\}?\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_DROPPED = re.compile(
    r"\\(?:label|tag|ref|eqref|cite[a-z]*)\*?\{[^{}]*\}|\\(?:nonumber|notag|displaystyle|allowbreak|hfill)(?![A-Za-z])"
)
_ENDS = re.compile(r"\\(?:qquad|quad)(?![A-Za-z])|\\text\{\s*(?:with|where|for|if|and)\b")
_RELATION = re.compile(r"\\(?:approx|simeq|sim|equiv|triangleq|coloneqq)(?![A-Za-z])|(?<![<>:!])=(?!=)|≈|:=")
_FOREIGN = re.compile(
    r"\\(?:in|leq?|geq?|ll|gg|to|mapsto|mathbb|mathbf|bm|boldsymbol|mathcal|exp|log|ln|partial|nabla|dots|ldots|cdots"
    r"|vec|propto|neq|forall|exists|subset|mathsf|sigma|aligned)(?![A-Za-z])|[<>]|\|"
)


@dataclass(frozen=True)
class MathSegment:
    """One formula of a paper: a side of an equation."""

    line: int
    text: str  # LaTeX
    left: str  # the first side of its equation, or empty
    context: str  # the words before it, or the labels of its row and column and the caption of its table
    after: str = ""  # the words after it
    row: str = ""  # the label of its row in a table
    section: str = ""  # more words before it
    file: str = ""  # the file of a paper with several files


def math_segments(source: str) -> list[MathSegment]:
    r"""Return the formulas of a LaTeX source in their order, without vectors, conditions and plain names.

    Parameters
    ----------
    source
        The text of a paper.

    Examples
    --------
    >>> [each] = math_segments("It has $P = 12lh^2$ parameters.")
    >>> each.text, each.left, each.line
    ('12lh^2', 'P', 1)

    """
    text = _COMMENT.sub(_blank, _VERBATIM.sub(_blank, source[:MOST]))
    starts = [0, *(found.end() for found in re.finditer(r"\n", text))]
    macros = {name: body for name, body in _MACRO.findall(text) if len(body) < LONG}
    tables = [(found.start(), found.end()) for found in _TABLE.finditer(text)]
    segments: list[MathSegment] = []
    for found in _MATH.finditer(text):
        kind = next(name for name in ("display", "bracket", "dollars", "round", "inline") if found[name] is not None)
        table = next((each for each in tables if each[0] < found.start() < each[1]), None)
        context, row = _cell(text, table, found.start()) if table else (_before(text, found.start()), "")
        after = _words(text[found.end() : found.end() + AFTER])
        left = ""
        for offset, line in _lines(found[kind]):
            sides, left = _sides(_expanded(line, macros), left)
            place = bisect_right(starts, found.start(kind) + offset)
            section = _words(text[max(0, found.start() - SECTION) : found.start()])
            segments += [MathSegment(place, each, left, context, after, row, section) for each in sides]
    return segments


def _blank(found: re.Match[str]) -> str:
    """Return as many line breaks as the match has, so that line numbers stay."""
    return "\n" * found.group().count("\n")


def _lines(display: str) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of a display, split at \\, with their offsets."""
    at = 0
    for part in re.split(r"(\\\\(?:\[[^\]]*\])?)", display):
        if not part.startswith("\\\\"):
            lead = len(part) - len(part.lstrip())
            yield at + lead, part
        at += len(part)


def _expanded(line: str, macros: dict[str, str]) -> str:
    for _ in range(3):
        changed = re.sub(r"\\([A-Za-z]+)(?![A-Za-z])", lambda each: macros.get(each[1], each[0]), line)
        if changed == line or len(changed) > LONG:
            break
        line = changed
    return line


def _sides(line: str, before: str) -> tuple[list[str], str]:
    """Return the sides of an equation that can be formulas, and its first side, which continued lines share."""
    line = _DROPPED.sub(" ", line).replace("&", " ")
    if cut := _ENDS.search(line, 1 if line.lstrip().startswith("\\quad") else 0):
        line = line[: cut.start()]
    sides = [_trimmed(each) for each in _RELATION.split(line)]
    left = sides[0] if len(sides) > 1 and sides[0] else before if len(sides) > 1 else ""
    own = [each for each in sides if each and not _FOREIGN.search(each) and _is_formula(each)]
    return [each for each in own if len(each) <= LONG], left


def _trimmed(side: str) -> str:
    """Return a side without punctuation and spaces at its ends."""
    side = side.strip(" \t\n.,;:~")
    return re.sub(r"^(?:\\[,!;:])+|(?:\\[,!;:])+$", "", side).strip(" \t\n.,;:~")


def _is_formula(side: str) -> bool:
    """Return True for arithmetic on names, and not for one name or one number."""
    bare = re.sub(r"\\(?:rm|text|mathrm|textrm|textit|mathit|textbf|operatorname)(?![A-Za-z])", "", side)
    bare = re.sub(r"_\{[^{}]*\}|_[A-Za-z0-9]|\^\{[A-Za-z]+\}|\\(?:left|right|,|;|!)", "", bare)
    letters = re.findall(r"\\[A-Za-z]+|[A-Za-z]", bare)
    return bool(letters) and (len(letters) > 1 or bool(re.search(r"\d", bare)))


def _words(text: str) -> str:
    """Return text without mathematics and commands, on one line."""
    text = re.sub(r"\$[^$]*\$|\\(?:label|cite[a-z]*|ref|eqref)\*?\{[^{}]*\}", " ", text)
    return " ".join(re.sub(r"\\[A-Za-z]+\*?|[{}~$\\&]", " ", text).split())


def _before(text: str, at: int) -> str:
    """Return the words before a formula in its paragraph or, if there are few, also those of the paragraph before."""
    return _words(text[max(0, at - 2 * AROUND) : at])[-AROUND:]


def _cell(text: str, table: tuple[int, int], at: int) -> tuple[str, str]:
    """Return the words of the row, the column and the caption of a cell, and the label of its row."""
    inside = text[table[0] : table[1]]
    place = at - table[0]
    rows = [(found.start(), found.end()) for found in re.finditer(r"(?:(?!\\\\).)+", inside, re.DOTALL)]
    row = next(((start, end) for start, end in rows if start <= place < end), (0, len(inside)))
    before = inside[row[0] : place]
    column = len(re.findall(r"(?<!\\)&", before))
    label = _words(re.split(r"(?<!\\)&", inside[row[0] : row[1]])[0])
    heads = [re.split(r"(?<!\\)&", inside[start:end]) for start, end in rows[:2]]
    head = next((_words(cells[column]) for cells in heads if len(cells) > column and _words(cells[column])), "")
    caption = _CAPTION.search(text, table[1], table[1] + 1_500)
    caption = caption or _CAPTION.search(text, max(0, table[0] - 900), table[0])
    said = _words(caption[1].partition("\n\n")[0]) if caption else ""
    return f"{said[:400]}. {label}. {head}", label
