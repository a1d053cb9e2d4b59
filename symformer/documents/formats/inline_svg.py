"""Drawings in HTML pages: SVG whose text uses the page's font and whose black is the page's text colour."""

from __future__ import annotations

from base64 import b64encode
from html import escape

from ...language.notation.svg import svg
from ...output.blocks import Code, Math, Piece, Strong
from ..figures.embedded_font import CODE
from ..figures.primitives import BLACK, Circle, Drawing, Path, Rect, Shape, Words
from .base_language import printable, templates
from .units import number as n

ZOOM = 1.9  # pixels per point, if there is room
BROAD = 300.0  # figures wider than this many points may scroll on a narrow screen
STROKE = 0.6  # the usual width of a line
INHERITED = f'fill="currentColor" stroke-width="{n(STROKE)}"'  # by all shapes that do not state their own
ENDS = {"left": "", "right": ' text-anchor="end"', "center": ' text-anchor="middle"'}


def svg_element(drawing: Drawing, marked: bool = False) -> str:
    """Return the SVG element, without an id or style, with alternative text for screen readers.

    If ``marked``, the boxes, bars and amounts have attributes that a script can find.
    """
    said = escape(printable(drawing.alt or drawing.title))
    head = (
        f'<svg role="img" aria-label="{said}" viewBox="0 0 {n(drawing.width)} {n(drawing.height)}"'
        f' width="{n(drawing.width * ZOOM)}" height="{n(drawing.height * ZOOM)}" {INHERITED}>'
    )
    made = "\n".join([head, *(_shape(shape, marked) for shape in drawing.shapes), "</svg>"])
    if drawing.width <= BROAD:
        return made
    return f'<div class="broad" tabindex="0" role="group" aria-label="Figure">\n{made}\n</div>'


def svg_file(drawing: Drawing) -> str:
    """Return a drawing as an SVG file, black on white, with the font of its formulas."""
    font = b64encode((templates() / "fonts" / "symformer-math.woff2").read_bytes()).decode()
    style = (
        f'@font-face {{ font-family: "Symformer Math"; src: url("data:font/woff2;base64,{font}") format("woff2"); }}'
        f" svg {{ background: {drawing.background}; color: {BLACK}; }}"
        ' text { font-family: "Symformer Math", serif; } .code { font-family: monospace; }'
    )
    made = svg_element(drawing)
    head, _, rest = made[made.index("<svg ") : made.index("</svg>")].partition(">")
    return f'{head} xmlns="http://www.w3.org/2000/svg"><style>{style}</style>{rest}</svg>\n'


def _shape(shape: Shape, marked: bool) -> str:
    match shape:
        case Rect():
            return _rect(shape, marked)
        case Circle():
            circle = f'<circle cx="{n(shape.x)}" cy="{n(shape.y)}" r="{n(shape.r)}"'
            return f'{circle} fill="{_ink(shape.fill)}" stroke="currentColor"/>'
        case Path():
            spelt = " ".join(f"{n(x)},{n(y)}" for x, y in shape.points)
            ink = _ink(shape.ink)
            if shape.filled:
                return f'<polygon points="{spelt}" fill="{ink}"/>'
            return f'<polyline points="{spelt}" fill="none" stroke="{ink}"{_width(shape.stroke)}/>'
        case Words():
            place = f'x="{n(shape.x)}" y="{n(shape.y)}" font-size="{n(shape.size)}"{ENDS[shape.anchor]}'
            told = "".join(_piece(piece, shape.size) for piece in shape.line)
            ink = "" if shape.ink == BLACK else f' fill="{shape.ink}"'  # inherited from the whole drawing
            return f"<text {place}{ink}{_mark(shape, marked)}>{told}</text>"


def _mark(shape: Rect | Words, marked: bool) -> str:
    return f' data-mark="{escape(printable(shape.mark))}"' if marked and shape.mark else ""


def _rect(shape: Rect, marked: bool) -> str:
    place = f'x="{n(shape.x)}" y="{n(shape.y)}" width="{n(shape.w)}" height="{n(shape.h)}"'
    corners = f' rx="{n(shape.radius)}"' if shape.radius else ""
    stroke = f' stroke="{_ink(shape.ink)}"{_width(shape.stroke)}' if shape.stroke else ""
    dashes = ' stroke-dasharray="2 1.6"' if shape.dashed and shape.stroke else ""
    return f'<rect {place}{corners} fill="{shape.fill or "none"}"{stroke}{dashes}{_mark(shape, marked)}/>'


def _width(stroke: float) -> str:
    return "" if stroke == STROKE else f' stroke-width="{n(stroke)}"'


def _ink(ink: str) -> str:
    return "currentColor" if ink == BLACK else ink


def _piece(piece: Piece, size: float) -> str:
    match piece:
        case Math(shown):
            return svg(shown, size)
        case Code(words):
            return f'<tspan class="code" font-size="{n(size * CODE)}">{escape(printable(words))}</tspan>'
        case Strong(words):
            return f'<tspan font-weight="700">{escape(printable(words))}</tspan>'
        case str():
            return escape(printable(piece))
    raise TypeError(f"not a piece of a figure: {piece!r}")
