r"""The parts of a LaTeX paper that an audit needs: its files, its definitions, and its uses of \symformer."""

from __future__ import annotations

import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..language.errors import DocumentError
from .macros import MARK

MOST = 20_000_000  # maximum bytes of a paper, all files together
FILES = 1_000  # maximum files of a paper
LONG = 1_000  # maximum characters of an option or of an argument in brackets
_LITERAL = r"\s*\{(verbatim\*?|[BL]?Verbatim\*?|lstlisting|minted|comment|filecontents\*?)\}"
_ENDS = re.compile(r"\\end" + _LITERAL)
# Every repetition is bounded or stops at the next mark, so that a search takes time in proportion to the text.
_VERBATIM = re.compile(
    rf"\\begin{_LITERAL}"
    r"|\\(?:verb|lstinline)\*?([^\sA-Za-z*{\[])[^\n]{0,1000}?\2"
    r"|(?<!\\)(?:\\\\)*%[^\n]*",
    re.DOTALL,
)
_INPUT = re.compile(r"\\(?:(input|include|subfile)\s*\{([^{}]*)\}|(input)\s+([^\s\\{}%]+))")
_DEFINES = re.compile(
    r"\\(?:(?:new|renew|provide)command|DeclareRobustCommand|(?:New|Renew|Provide|Declare)DocumentCommand)\*?\s*"
    r"(?:\{\s*\\([A-Za-z]+)\s*\}|\\([A-Za-z]+))\s*(?:\[[^\]]{0,1000}\]\s*){0,2}"
    r"|\\(?:long\s*\\|protected\s*\\|global\s*\\){0,4}[egx]?def\s*\\([A-Za-z]+)\s*"
    r"|\\(?:global\s*\\)?(?:future)?let\s*\\([A-Za-z]+)\s*=?\s*"
)
_USES = re.compile(r"\\symformer(?![A-Za-z])\s*")
# Files that are part of LaTeX, which papers do not contain.
_BROUGHT: Final = frozenset({"glyphtounicode", "glyphtounicode-cmex", "ix-utf8enc.dfu"})


@dataclass(frozen=True)
class PaperLocation:
    """A place in a paper."""

    file: str  # relative to the paper's folder
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class MacroDefinition:
    """A macro definition: its name without the backslash, and its body, or None if it cannot be read."""

    spot: PaperLocation
    name: str
    body: str | None


@dataclass(frozen=True)
class FormulaReference:
    r"""One ``\symformer[options]{id}{number}``."""

    spot: PaperLocation
    options: str
    id: str
    number: str


@dataclass
class Manuscript:
    """The parts of a paper that an audit checks, in their order, and the parts that could not be read."""

    marks: list[tuple[PaperLocation, str]] = field(default_factory=list)  # the first lines of files of macros
    definitions: list[MacroDefinition] = field(default_factory=list)
    uses: list[FormulaReference] = field(default_factory=list)
    unread: list[tuple[PaperLocation, str]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def read(path: str) -> Manuscript:
    """Read a paper with every file that it inputs from its own folder.

    Raises DocumentError if the main file cannot be read.
    """
    main = Path(path)
    content = _content(main, path)
    found = Manuscript(files=[main.name])
    folder = Path(os.path.realpath(main)).parent
    seen = {Path(os.path.realpath(main)): len(content)}
    reading = [_events(content, main.name)]  # the open files, each at its current position
    while reading:
        event = next(reading[-1], None)
        match event:
            case None:
                reading.pop()
            case MacroDefinition():
                found.definitions.append(event)
            case FormulaReference():
                found.uses.append(event)
            case (PaperLocation() as spot, str(line), True):
                found.marks.append((spot, line))
            case (PaperLocation() as spot, str(name), False):
                if opened := _follow(name, spot, folder, found, seen):
                    found.files.append(opened[0])
                    reading.append(_events(opened[1], opened[0]))
    return found


def sources(path: str) -> dict[str, str]:
    """Return the text of a paper's main file and of every file that it inputs from its own folder, by file name.

    Raises DocumentError if the main file cannot be read.
    """
    folder = Path(os.path.realpath(path)).parent
    main, *inputs = read(path).files
    return {main: _content(Path(path), path), **{name: _content(folder / name, name) for name in inputs}}


def _content(place: Path, said: str) -> str:
    try:
        if place.is_dir():
            raise DocumentError(f"{said} is a folder; name the paper's main file, such as {said.rstrip('/')}/paper.tex")
        if not place.is_file():
            raise DocumentError(f"{said} is missing or is not a file; name the paper's main file, such as paper.tex")
        if place.stat().st_size > MOST:
            raise DocumentError(f"{said} has {place.stat().st_size:,} bytes, more than the limit of {MOST:,}")
        return place.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DocumentError(f"{said} cannot be read: {why}") from None


Event = (
    MacroDefinition | FormulaReference | tuple[PaperLocation, str, bool]
)  # the tuple is a macro file's header (True) or an input's name


def _events(content: str, file: str) -> Iterator[Event]:
    """Yield the definitions, uses, headers and inputs of one file, in order."""
    masked, remarks = _masked(content)
    end = re.search(r"\\end\s*\{document\}", masked)
    masked = masked[: end.start()] if end else masked
    found: list[tuple[int, Event]] = []
    starts = [0, *(each.end() for each in re.finditer("\n", content))]
    closing = _closing(masked)

    def spot(place: int) -> PaperLocation:
        return PaperLocation(file, bisect_right(starts, place))

    for line in re.finditer(rf"^{re.escape(MARK)}.*$", content, re.MULTILINE):
        if line.start() in remarks:
            found.append((line.start(), (spot(line.start()), line[0], True)))
    for each in _DEFINES.finditer(masked):
        name = next(filter(None, each.groups()))
        body = _group(masked, each.end(), closing)[0]
        found.append((each.start(), MacroDefinition(spot(each.start()), name, body)))
    for each in _USES.finditer(masked):
        if use := _use(masked, each.end(), spot(each.start()), closing):
            found.append((each.start(), use))
    for each in _INPUT.finditer(masked):
        found.append((each.start(), (spot(each.start()), (each[2] if each[1] else each[4]).strip(), False)))
    for _, event in sorted(found, key=lambda each: each[0]):
        yield event


def _follow(
    name: str, where: PaperLocation, folder: Path, found: Manuscript, seen: dict[Path, int]
) -> tuple[str, str] | None:
    """Return the name and text of an input file in the paper's folder, or None if it is not read."""
    if "\\" in name or "#" in name:
        found.unread.append((where, f"\\input{{{name}}} has a macro in its name; audit does not expand macros"))
        return None
    for ending in (".tex", ""):
        try:
            place = Path(os.path.realpath(folder / (name.strip('"') + ending)))
            there = place.is_file()
        except (OSError, ValueError):
            continue
        if not place.is_relative_to(folder):
            found.unread.append((where, f"\\input{{{name}}} is outside the paper's folder; move the file into it"))
            return None
        if not there:
            continue
        if place in seen:
            return None
        if len(seen) >= FILES:
            found.unread.append((where, f"the paper has more than {FILES:,} files"))
            return None
        seen[place] = 0
        try:
            content = _content(place, name)
        except DocumentError as error:
            found.unread.append((where, str(error)))
            return None
        seen[place] = len(content)
        if sum(seen.values()) > MOST:
            found.unread.append((where, f"the paper has more than {MOST:,} characters"))
            return None
        return place.relative_to(folder).as_posix(), content
    if name.removesuffix(".tex") not in _BROUGHT:
        found.unread.append((where, f"\\input{{{name}}} is not in the paper's folder"))
    return None


def _masked(content: str) -> tuple[str, set[int]]:
    """Return the text with comments and verbatim blanked out, and the indices where comments begin.

    The remaining characters keep their positions.

    >>> _masked("a%b")
    ('a  ', {1})
    """
    remarks: set[int] = set()
    ends: dict[str, list[int]] = {}
    for each in _ENDS.finditer(content):
        ends.setdefault(each[1], []).append(each.start())
    pieces, done, at = [], 0, 0
    while found := _VERBATIM.search(content, at):
        start, at = found.span()
        if found[1]:
            places = ends.get(found[1], [])
            next_one = bisect_right(places, at - 1)
            if next_one == len(places):  # it never ends, so it is not verbatim
                continue
            at = content.index("}", places[next_one]) + 1
        elif not found[2]:
            start += found[0].index("%")  # skip the backslashes before the comment sign
            remarks.add(start)
        pieces += [content[done:start], re.sub(r"[^\n]", " ", content[start:at])]
        done = at
    return "".join([*pieces, content[done:]]), remarks


def _use(text: str, place: int, where: PaperLocation, closing: Sequence[int]) -> FormulaReference | None:
    options = ""
    if text[place : place + 1] == "[":
        end = text.find("]", place, place + LONG)
        if end < 0:
            return None
        options, place = text[place + 1 : end], end + 1
    id, place = _group(text, place, closing)
    number, _ = _group(text, place, closing)
    if id is None or number is None:  # its definition, not a use
        return None
    return FormulaReference(where, options.replace("\\_", "_").strip(), id.replace("\\_", "_").strip(), number.strip())


_SPACE = re.compile(r"\s*")


def _group(text: str, place: int, closing: Sequence[int]) -> tuple[str | None, int]:
    """Return the text in the balanced braces that open at an index and the index after them; None without a brace."""
    spaces = _SPACE.match(text, place)
    start = spaces.end() if spaces else place
    if text[start : start + 1] != "{" or not closing[start]:
        return None, place
    return text[start + 1 : closing[start]], closing[start] + 1


def _closing(text: str) -> Sequence[int]:
    """Return for each opening brace the index of its closing brace; 0 for any other character."""
    found = array("i", bytes(4 * len(text)))
    opened: list[int] = []
    for each in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text):
        if each[0] == "{":
            opened.append(each.start())
        elif each[0] == "}" and opened:
            found[opened.pop()] = each.start()
    return found
