"""The fonts that the installed Typst embeds, for the same pages in the browser.

The package has no function that returns them, but its library contains each font file as a whole. A font file starts
with a table of its parts, and states a checksum: its 32-bit words add up to a constant.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from ..language.errors import SiteError

_START = re.compile(rb"(?:OTTO|\x00\x01\x00\x00)\x00[\x05-\x28]", re.DOTALL)  # the format, and a number of tables
_CHECKSUM = 0xB1B0AFBA  # of every OpenType font


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
    (tables,) = struct.unpack_from(">H", library, start + 4)
    size = 0
    for place in range(start + 12, start + 12 + 16 * tables, 16):
        if place + 16 > len(library):
            return 0
        tag, _, offset, length = struct.unpack_from(">4sIII", library, place)
        if not re.fullmatch(rb"[ -~]{4}", tag):
            return 0
        size = max(size, offset + length)
    return (size + 3) // 4 * 4
