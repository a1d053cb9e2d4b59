"""The widths of lines, measured by Typst: all lines of a figure at once, and each line only once.

In a browser, Typst is only there while it writes a PDF. Otherwise, the widths come from the font that pages embed.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from typing import Any

from ...language.errors import DocumentError
from ...output.blocks import Line
from ..formats.base_language import templates
from ..formats.typ import PRINTED
from .embedded_font import embedded_width

_PAGE = """#set text(font: "New Computer Modern")
#let words(size, body) = {
  show raw: it => text(font: "DejaVu Sans Mono", size: 0.84 * size, it.text)
  text(size: size, body)
}
#let m(alt, body) = { set math.equation(alt: alt); body }
#let told(size, body) = context [#metadata(measure(words(size, body)).width.pt())<told>]
"""


class Ruler:
    """Measures the widths of lines."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, float], float] = {}
        self._asked: dict[tuple[str, float], None] = {}

    def width(self, line: Line, size: float) -> float:
        """Return the width of a line in points, or a guess until ``settle`` has measured it."""
        if not measures():
            return embedded_width(line, size)
        key = (PRINTED.line(line), size)
        if key not in self._known:
            self._asked[key] = None
        return self._known.get(key, 10.0)

    def settle(self) -> bool:
        """Measure all requested lines whose width is unknown; return False if there were none."""
        if not self._asked:
            return False
        import typst

        lines = [f"#told({size}pt, [{spelt}])" for spelt, size in self._asked]
        try:
            source: Any = (_PAGE + "\n".join(lines)).encode()
            said = typst.query(source, "<told>", field="value", root=str(templates()), ignore_system_fonts=True)
        except RuntimeError as error:
            raise DocumentError(f"Typst cannot measure the figure: {str(error).partition(chr(10))[0]}") from None
        self._known |= dict(zip(self._asked, json.loads(said), strict=True))
        self._asked.clear()
        return True


@cache
def measures() -> bool:
    """Return True if Typst can measure, because it is installed."""
    return find_spec("typst") is not None
