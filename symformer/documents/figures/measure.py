"""How wide lines are: Typst says it, all lines of a figure at once, and each once."""

from __future__ import annotations

import json
from typing import Any

from ...language.errors import DocumentError
from ..blocks import Line
from ..formats.language import templates
from ..formats.typ import PRINTED

_PAGE = """#set text(font: "New Computer Modern")
#let words(size, body) = {
  show raw: it => text(font: "DejaVu Sans Mono", size: 0.84 * size, it.text)
  text(size: size, body)
}
#let m(alt, body) = { set math.equation(alt: alt); body }
#let told(size, body) = context [#metadata(measure(words(size, body)).width.pt())<told>]
"""


class Ruler:
    """Widths of lines at a size."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, float], float] = {}
        self._asked: dict[tuple[str, float], None] = {}

    def width(self, line: Line, size: float) -> float:
        """How wide a line is in points; a guess the first time that it is asked for, until ``settle`` has measured."""
        key = (PRINTED.line(line), size)
        if key not in self._known:
            self._asked[key] = None
        return self._known.get(key, 10.0)

    def settle(self) -> bool:
        """Measure whatever was asked for and not known; False where there was nothing."""
        import typst

        if not self._asked:
            return False
        lines = [f"#told({size}pt, [{spelt}])" for spelt, size in self._asked]
        try:
            source: Any = (_PAGE + "\n".join(lines)).encode()
            said = typst.query(source, "<told>", field="value", root=templates(), ignore_system_fonts=True)
        except RuntimeError as error:
            raise DocumentError(f"Typst refused the figure: {str(error).partition(chr(10))[0]}") from None
        self._known |= dict(zip(self._asked, json.loads(said), strict=True))
        self._asked.clear()
        return True
