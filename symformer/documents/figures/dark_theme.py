"""The colours of a drawing on a dark page, the same as on HTML pages in dark mode."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from ..formats.base_language import templates
from .primitives import BLACK, GREY, WHITE, Circle, Drawing, Path, Rect, Shape, Words

PAPER, FAINT, QUIET, TEXT = "#15171B", "#1E2126", "#A3A7B0", "#E4E5E9"  # of the style sheet
_RULE = re.compile(r'figure \[(?:fill|stroke)="(#[0-9A-F]{6})"\] \{ \w+: (#[0-9a-f]{6}); \}')


def dark(drawing: Drawing) -> Drawing:
    """Return a drawing with light text on a dark page."""
    return replace(drawing, shapes=[_shape(each) for each in drawing.shapes], background=PAPER)


@cache
def colours() -> dict[str, str]:
    """Return the dark colour of each light colour that changes."""
    found = {BLACK: TEXT, GREY: QUIET, "#444444": QUIET, WHITE: PAPER, "#FBFBFB": FAINT}
    style = (templates() / "derivation.css").read_text("utf-8")
    return found | {light: shade.upper() for light, shade in _RULE.findall(style)}


def _shape(shape: Shape) -> Shape:
    match shape:
        case Rect() | Circle():
            return replace(shape, fill=_dark(shape.fill), ink=_dark(shape.ink))
        case Path() | Words():
            return replace(shape, ink=_dark(shape.ink))


def _dark(colour: str) -> str:
    return colours().get(colour, colour)
