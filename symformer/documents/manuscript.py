r"""A paper in LaTeX, read as far as an audit needs it: its files, its definitions, and its uses of \symformer."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..language.errors import DocumentError
from .macros import MARK

MOST = 20_000_000  # bytes of a file that are read
FILES = 1_000  # of one paper
_VERBATIM = re.compile(
    r"\\begin\s*\{(verbatim\*?|[BL]?Verbatim\*?|lstlisting|minted|comment|filecontents\*?)\}.*?\\end\s*\{\1\}"
    r"|\\(?:verb|lstinline)\*?([^\sA-Za-z*{\[])[^\n]*?\2"
    r"|(?<!\\)(?:\\\\)*%[^\n]*",
    re.DOTALL,
)
_INPUT = re.compile(r"\\(?:(input|include|subfile)\s*\{([^{}]*)\}|(input)\s+([^\s\\{}%]+))")
_DEFINES = re.compile(
    r"\\(?:(?:new|renew|provide)command|DeclareRobustCommand|(?:New|Renew|Provide|Declare)DocumentCommand)\*?\s*"
    r"(?:\{\s*\\([A-Za-z]+)\s*\}|\\([A-Za-z]+))\s*(?:\[[^\]]*\]\s*){0,2}"
    r"|\\(?:long\s*\\|protected\s*\\|global\s*\\)*[egx]?def\s*\\([A-Za-z]+)\s*"
    r"|\\(?:global\s*\\)?(?:future)?let\s*\\([A-Za-z]+)\s*=?\s*"
)
_USES = re.compile(r"\\symformer(?![A-Za-z])\s*")
# What LaTeX itself brings, of which no paper has a copy beside it.
_BROUGHT: Final = frozenset({"glyphtounicode", "glyphtounicode-cmex", "ix-utf8enc.dfu"})


@dataclass(frozen=True)
class Spot:
    """A place in a paper."""

    file: str  # as it lies from the paper's folder
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Definition:
    """A macro that is defined: its name without the backslash, and what for; None where that cannot be read."""

    spot: Spot
    name: str
    body: str | None


@dataclass(frozen=True)
class Use:
    r"""One ``\symformer[options]{id}{number}``."""

    spot: Spot
    options: str
    id: str
    number: str


@dataclass
class Manuscript:
    """What a paper has for an audit, in the order it stands there, and what of it could not be read."""

    marks: list[tuple[Spot, str]] = field(default_factory=list)  # the first lines of files of macros
    definitions: list[Definition] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    unread: list[tuple[Spot, str]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def read(path: str) -> Manuscript:
    """A paper with all that it brings in from its own folder. Raises DocumentError where the paper cannot be read."""
    main = Path(path)
    content = _content(main, path)
    found = Manuscript()
    folder = Path(os.path.realpath(main)).parent
    _collect(content, main.name, folder, found, {Path(os.path.realpath(main))})
    return found


def _content(place: Path, said: str) -> str:
    try:
        if place.is_dir():
            raise DocumentError(f"{said} is a folder; name the paper's main file, such as {said.rstrip('/')}/paper.tex")
        if not place.is_file():
            raise DocumentError(f"{said} is not there, or is no file; name the paper's main file, such as paper.tex")
        if place.stat().st_size > MOST:
            raise DocumentError(f"{said} has {place.stat().st_size:,} bytes, and at most {MOST:,} are read")
        return place.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DocumentError(f"{said} cannot be read: {why}") from None


def _collect(content: str, file: str, folder: Path, found: Manuscript, seen: set[Path]) -> None:
    found.files.append(file)
    masked, remarks = _masked(content)
    end = re.search(r"\\end\s*\{document\}", masked)
    masked = masked[: end.start()] if end else masked
    events: list[tuple[int, object]] = []
    starts = [0, *(each.end() for each in re.finditer("\n", content))]

    def spot(place: int) -> Spot:
        from bisect import bisect_right

        return Spot(file, bisect_right(starts, place))

    for line in re.finditer(rf"^{re.escape(MARK)}.*$", content, re.MULTILINE):
        if line.start() in remarks:
            events.append((line.start(), (spot(line.start()), line[0])))
    for each in _DEFINES.finditer(masked):
        name = next(filter(None, each.groups()))
        events.append((each.start(), Definition(spot(each.start()), name, _group(masked, each.end())[0])))
    for each in _USES.finditer(masked):
        if use := _use(masked, each.end(), spot(each.start())):
            events.append((each.start(), use))
    for each in _INPUT.finditer(masked):
        events.append((each.start(), (each[2] if each[1] else each[4]).strip()))
    for place, event in sorted(events, key=lambda each: each[0]):
        match event:
            case Definition():
                found.definitions.append(event)
            case Use():
                found.uses.append(event)
            case str():
                _follow(event, spot(place), folder, found, seen)
            case (Spot() as where, str(line_)):
                found.marks.append((where, line_))


def _follow(name: str, where: Spot, folder: Path, found: Manuscript, seen: set[Path]) -> None:
    """Read a file that is brought in, where it lies in the paper's folder."""
    if "\\" in name or "#" in name:
        found.unread.append((where, f"\\input{{{name}}} has a macro in its name, which an audit does not expand"))
        return
    for ending in (".tex", ""):
        try:
            place = Path(os.path.realpath(folder / (name.strip('"') + ending)))
            there = place.is_file()
        except (OSError, ValueError):
            continue
        if not place.is_relative_to(folder):
            found.unread.append((where, f"\\input{{{name}}} leads out of the paper's folder; bring the file into it"))
            return
        if not there:
            continue
        if place in seen:
            return
        if len(seen) >= FILES:
            found.unread.append((where, f"the paper has more than {FILES:,} files"))
            return
        seen.add(place)
        try:
            content = _content(place, name)
        except DocumentError as error:
            found.unread.append((where, str(error)))
            return
        _collect(content, place.relative_to(folder).as_posix(), folder, found, seen)
        return
    if name.removesuffix(".tex") not in _BROUGHT:
        found.unread.append((where, f"\\input{{{name}}} is not there in the paper's folder"))


def _masked(content: str) -> tuple[str, set[int]]:
    """The same text with comments and verbatim blanked out, every place in it where it was; and where comments begin.

    >>> _masked("a%b")
    ('a  ', {1})
    """
    remarks: set[int] = set()

    def blank(found: re.Match[str]) -> str:
        text, kept = found[0], ""
        if not found[1] and not found[2]:
            kept = text[: text.index("%")]  # backslashes of a line that ends before it
            remarks.add(found.start() + len(kept))
        return kept + re.sub(r"[^\n]", " ", text[len(kept) :])

    return _VERBATIM.sub(blank, content), remarks


def _use(text: str, place: int, where: Spot) -> Use | None:
    options = ""
    if text[place : place + 1] == "[":
        end = text.find("]", place)
        options, place = text[place + 1 : max(end, place + 1)], end + 1
    id, place = _group(text, place)
    number, _ = _group(text, place)
    if id is None or number is None:  # where it is defined, and not used
        return None
    return Use(where, options.strip(), id.replace("\\_", "_").strip(), number.strip())


def _group(text: str, place: int) -> tuple[str | None, int]:
    """What stands between balanced braces from a place on, and where it ends; None where none open there."""
    start = place
    while text[start : start + 1].isspace():
        start += 1
    if text[start : start + 1] != "{":
        return None, place
    depth = 0
    for found in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, start):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return text[start + 1 : found.start()], found.end()
    return None, place
