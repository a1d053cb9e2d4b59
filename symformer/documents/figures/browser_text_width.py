"""The widths of lines in a browser, which uses the font embedded in the page."""

from __future__ import annotations

from ...output.blocks import Line
from .embedded_font import embedded_width
from .text_width import Ruler


class ScreenRuler(Ruler):
    """Computes the widths of lines in a browser, without measuring."""

    def width(self, line: Line, size: float) -> float:
        return embedded_width(line, size)

    def settle(self) -> bool:
        return False
