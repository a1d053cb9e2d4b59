"""Drawings in LaTeX's picture environment, which need only the packages graphicx and xcolor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..figures.primitives import BLACK, Circle, Drawing, Path, Rect, Shape, Words
from .base_language import Language, printable
from .units import number as n

TYPE = 10  # font size in points from which words are scaled
ALONG = 110  # hexadecimal digits per line of the file
# Alternative text for screen readers in a PDF. The macros are defined only inside the figure.
MACROS = r"""\newcommand{\inpdf}[1]{}
\ifdefined\pdfextension\ifnum\outputmode>0 \renewcommand{\inpdf}[1]{\pdfextension literal page{#1}}\fi
\else\ifdefined\pdfliteral\ifnum\pdfoutput>0 \renewcommand{\inpdf}[1]{\pdfliteral page{#1}}\fi\fi\fi
\newcommand{\filled}[5]{\put(#1,#2){\color[RGB]{#5}\rule{#3\unitlength}{#4\unitlength}}}
\newcommand{\words}[6]{\put(#1,#2){\makebox[0pt][#3]{\color[RGB]{#5}\scalebox{#4}{#6}}}}
\newcommand{\ring}[3]{\put(#1,#2){\color{white}\circle*{#3}}\put(#1,#2){\circle{#3}}}
\newcommand{\disk}[3]{\put(#1,#2){\circle*{#3}}}
\newcommand{\tip}[4]{\put(#1,#2){\vector(#3,#4){0}}}"""


def picture(drawing: Drawing, language: Language, scale: float) -> str:
    """Return the picture with alternative text; its lengths are in big points, multiplied by the scale."""
    said = printable(drawing.alt or drawing.title).encode("utf-16-be", "replace").hex().upper()
    told = "\n".join(said[place : place + ALONG] for place in range(0, len(said), ALONG))
    lines = [f"{spelt}%" for spelt in MACROS.split("\n")]
    lines += [rf"\inpdf{{/Span <</Alt <FEFF{told}>>> BDC}}%", rf"\setlength{{\unitlength}}{{{n(scale)}bp}}%"]
    lines += [rf"\fontsize{{{TYPE}}}{{12}}\selectfont", f"\\begin{{picture}}({n(drawing.width)},{n(drawing.height)})"]
    for shape in drawing.shapes:
        lines += _shape(shape, drawing.height, language, scale)
    return "\n".join([*lines, r"\end{picture}%", r"\inpdf{EMC}"])


def filling(drawings: Sequence[Drawing], caption: str, language: Language) -> str:
    """Return a figure with its caption for the rest of the page: the first picture that is legible there, if any.

    Each drawing is tried at its largest and at its smallest scale.
    """
    spelt = ""
    for drawing in reversed(drawings):
        largest = language.page.enlarged(drawing.width, drawing.height)
        for scale in sorted({drawing.least_scale, max(largest, drawing.least_scale)}):
            shown = picture(drawing, language, scale)
            spelt = (
                f"\\ifdim\\dimen0>{n(scale * drawing.height)}bp\n"
                f"\\begin{{center}}\n{shown}\n\n\\smallskip Figure 1: {caption}\n\\end{{center}}\n"
                f"\\else\n{spelt}\\fi\n"
            )
    return f"{{\\par\\dimen0=\\dimexpr\\pagegoal-\\pagetotal-3\\baselineskip\\relax\n{spelt}}}"


def _shape(shape: Shape, height: float, language: Language, scale: float) -> Iterator[str]:
    """Yield the commands of a shape; y points upwards in a picture."""
    match shape:
        case Rect():
            yield from _rect(shape, height)
        case Circle():
            place = f"{{{n(shape.x)}}}{{{n(height - shape.y)}}}{{{n(2 * shape.r)}}}"
            yield (r"\disk" if shape.fill == BLACK else r"\ring") + place
        case Path():
            points = [(x, height - y) for x, y in shape.points]
            if shape.filled:
                yield from _tip(points)
                return
            for (ax, ay), (bx, by) in pairwise(points):  # parallel to the axes, extended into the corners
                x, y, half = min(ax, bx), min(ay, by), shape.stroke / 2
                yield _filled(x - half, y - half, abs(ax - bx) + 2 * half, abs(ay - by) + 2 * half, shape.ink)
        case Words():
            place = f"{{{n(shape.x)}}}{{{n(height - shape.y)}}}{{{shape.anchor[0]}}}"
            size = f"{{{shape.size * scale / TYPE:.3f}}}"
            yield rf"\words{place}{size}{{{_rgb(shape.ink)}}}{{{language.line(shape.line)}}}"


def _rect(shape: Rect, height: float) -> Iterator[str]:
    """Yield the fill of a rectangle and its four sides on top."""
    x, y, w, h, half = shape.x, height - shape.y - shape.h, shape.w, shape.h, shape.stroke / 2
    if shape.fill:
        yield _filled(x, y, w, h, shape.fill)
    if shape.stroke:
        for left, foot, wide, high in ((x, y, w, 0.0), (x, y + h, w, 0.0), (x, y, 0.0, h), (x + w, y, 0.0, h)):
            yield _filled(left - half, foot - half, wide + 2 * half, high + 2 * half, shape.ink)


def _tip(points: list[tuple[float, float]]) -> Iterator[str]:
    """Yield the head of an arrow: its tip and the end of its line."""
    (x, y), (ax, ay), (bx, by) = points
    mx, my = (ax + bx) / 2, (ay + by) / 2
    dx, dy = (x > mx + 0.1) - (x < mx - 0.1), (y > my + 0.1) - (y < my - 0.1)
    inner = (x - dx * 2, y - dy * 2)
    yield _filled(
        min(mx, inner[0]) - 0.3, min(my, inner[1]) - 0.3, abs(inner[0] - mx) + 0.6, abs(inner[1] - my) + 0.6, "#000000"
    )
    yield rf"\tip{{{n(x)}}}{{{n(y)}}}{{{dx}}}{{{dy}}}"


def _filled(x: float, y: float, wide: float, high: float, ink: str) -> str:
    return rf"\filled{{{n(x)}}}{{{n(y)}}}{{{n(max(wide, 0))}}}{{{n(max(high, 0))}}}{{{_rgb(ink)}}}"


def _rgb(ink: str) -> str:
    return ",".join(str(int(ink[place : place + 2], 16)) for place in (1, 3, 5))
