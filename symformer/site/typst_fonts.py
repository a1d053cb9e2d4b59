"""The fonts that the installed Typst embeds, for the same pages in the browser.

The package has no function that returns them, but its library contains each font file as a whole. A font file starts
with a table of its parts, and states a checksum: its 32-bit words add up to a constant.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from ..language.errors import SiteError

_START = re.compile(rb"(?:OTTO|\x00\x01\x00\x00)\x00[\x05-\x28]", re.DOTALL)  # the format, and a number of tables
_CHECKSUM = 0xB1B0AFBA  # of every OpenType font
_AT_ONCE = 2000  # characters of a document that is compiled to test them


def typst_fonts() -> Mapping[str, bytes]:
    """Return the fonts by file name, in the order in which Typst prefers them.

    Raises
    ------
    SiteError
        If Typst is not installed, or no fonts are found in it.

    """
    spec = find_spec("typst")
    if spec is None or spec.origin is None:
        raise SiteError("the PDFs of the playground require typst, which is not installed; run pip install typst")
    libraries = [place for place in sorted(Path(spec.origin).parent.iterdir()) if place.suffix in (".so", ".pyd")]
    found = list(dict.fromkeys(font for place in libraries for font in _fonts(place.read_bytes())))
    if not found:
        raise SiteError("the installed typst has no fonts; install another version, or leave out PDF: --without-pdf")
    return {f"fonts/{number:02d}.otf": font for number, font in enumerate(found)}


def _fonts(library: bytes) -> Iterator[bytes]:
    """Yield the font files in a library."""
    for match in _START.finditer(library):
        start = match.start()
        end = start + _size(library, start)
        if start < end <= len(library):
            font = library[start:end]
            if sum(struct.unpack(f">{len(font) // 4}I", font)) & 0xFFFFFFFF == _CHECKSUM:
                yield font


def _size(library: bytes, start: int) -> int:
    """Return the size of the font that may start here, or zero if its table is not one of a font."""
    tables = _tables(library, start)
    if any(not re.fullmatch(rb"[ -~]{4}", tag) for tag in tables):
        return 0
    return (max((offset + length for offset, length in tables.values()), default=0) + 3) // 4 * 4


def _tables(content: bytes, start: int = 0) -> dict[bytes, tuple[int, int]]:
    """Return the offset and the length of each table of a font, or nothing if the content ends before."""
    (number,) = struct.unpack_from(">H", content, start + 4)
    if start + 12 + 16 * number > len(content):
        return {}
    rows = (struct.unpack_from(">4sIII", content, start + 12 + 16 * place) for place in range(number))
    return {tag: (offset, length) for tag, _, offset, length in rows}


def displayed_characters(fonts: Iterable[bytes]) -> list[tuple[int, int]]:
    """Return the first and the last character of each run of characters that Typst displays with these fonts.

    Some fonts list characters that they cannot display, so Typst tests all of them: PDF/UA rejects missing characters.
    """
    listed = sorted({code for font in fonts for code in _listed(font) if chr(code).isprintable()})
    runs: list[tuple[int, int]] = []
    for place in range(0, len(listed), _AT_ONCE):
        part = listed[place : place + _AT_ONCE]
        rejected = _rejected([chr(code) for code in part])
        for code in part:
            if chr(code) in rejected:
                continue
            if runs and runs[-1][1] == code - 1:
                runs[-1] = (runs[-1][0], code)
            else:
                runs.append((code, code))
    return runs


def _listed(font: bytes) -> Iterator[int]:
    """Yield the characters in the table of a font that covers all of Unicode, which is of format 12."""
    start, _ = _tables(font)[b"cmap"]
    (number,) = struct.unpack_from(">H", font, start + 2)
    for place in range(number):
        (offset,) = struct.unpack_from(">I", font, start + 8 + 8 * place)
        kind, _, _, _, groups = struct.unpack_from(">HHIII", font, start + offset)
        if kind == 12:
            for group in range(groups):
                first, last, _ = struct.unpack_from(">III", font, start + offset + 16 + 12 * group)
                yield from range(first, last + 1)


def _rejected(characters: list[str]) -> set[str]:
    """Return the characters that Typst cannot display."""
    import typst

    paragraphs = [f"#{json.dumps(each, ensure_ascii=False)}" for each in characters]
    source = "\n\n".join(['#set document(title: "x")', *paragraphs])
    try:
        typst.compile(source.encode(), ignore_system_fonts=True, pdf_standards="ua-1")
    except RuntimeError as error:
        lines = re.findall(r"typ:(\d+):\d+$", str(getattr(error, "diagnostic", "")), re.MULTILINE)
        if not lines:
            raise SiteError("the installed typst does not state the lines of errors; install typst 0.15") from None
        return {characters[(int(line) - 3) // 2] for line in lines}
    return set()
