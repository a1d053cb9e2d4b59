"""A drawing as the bytes of a file: SVG, PDF and PNG by Typst, or TikZ."""

from __future__ import annotations

import re
from html import escape
from typing import Any, Final

from ..formats import base_language, pdf, tex, typ
from ..formats.missing_glyphs import with_macro
from ..formats.units import points
from .primitives import Drawing

FORMATS: Final = ("svg", "pdf", "png", "tex")  # the first is the default
RESOLUTION = 300  # pixels per inch of a PNG


def emit(drawing: Drawing, extension: str, resolution: int = RESOLUTION) -> bytes:
    """Return a drawing as the bytes of a file.

    Parameters
    ----------
    drawing
        The drawing.
    extension
        One of ``FORMATS``.
    resolution
        Pixels per inch, for PNG.

    """
    if extension == "tex":
        return tikz(drawing).encode()
    options: dict[str, Any] = {"format": extension}
    options |= {"ppi": resolution} if extension == "png" else {}
    options |= {"pdf_standards": pdf.STANDARD} if extension == "pdf" else {}
    made = pdf.typst_bytes(_page(drawing), **options)
    content: bytes = made[0] if isinstance(made, list) else made
    return _described(content, drawing) if extension == "svg" else content


def _page(drawing: Drawing) -> str:
    module: Any = base_language.environment().get_template("figure.typ.jinja").module
    body = str(module.place(drawing, typ.PRINTED)).strip().removeprefix("#")
    said = typ.PRINTED.string(base_language.printable(drawing.alt or drawing.title))
    title = typ.PRINTED.prose(base_language.printable(drawing.title))
    return (
        f"#set document(title: [{title}])\n"
        f"#set page(width: {points(drawing.width)}, height: {points(drawing.height)}, margin: 0pt, "
        f'fill: rgb("{drawing.background}"))\n'
        f"#figure(alt: {said}, {body})"
    )


def tikz(drawing: Drawing) -> str:
    """Return a ``tikzpicture`` for \\input."""
    made: str = (
        base_language.environment().get_template("figure.tex.jinja").render(drawing=drawing, language=tex.FORMAT)
    )
    return with_macro(made)


def _described(svg: bytes, drawing: Drawing) -> bytes:
    """Return an SVG with alternative text for screen readers."""
    said = escape(base_language.printable(drawing.alt or drawing.title))
    opened = re.sub(rb"<svg ", b'<svg role="img" ', svg, count=1)
    return re.sub(rb"(<svg [^>]*>)", lambda m: m[1] + f"<title>{said}</title>".encode(), opened, count=1)
