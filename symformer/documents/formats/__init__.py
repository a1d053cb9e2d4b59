"""Output formats of documents. Each module is named after the file extension it writes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from ...output.blocks import Document
    from .base_language import Format

Engine = Literal["typst", "latex"]
Flavour = Literal["github", "jupyter", "commonmark"]
FLAVOURS: tuple[Flavour, ...] = get_args(Flavour)  # of Markdown; the first is the default
FORMATS = ("pdf", "tex", "md", "typ", "html")  # the first is the default
TABLES = ("tex", "md", "csv", "html", "pdf", "typ")  # of a table of models
ARCHIVE = "zip"  # for arXiv, in addition to the formats


def render(document: Document, extension: str, engine: Engine = "typst", flavour: Flavour = "github") -> bytes:
    """Return a document as the bytes of a file.

    Parameters
    ----------
    document
        The document.
    extension
        The format: pdf, tex, md, typ or html, or fragment or bundled for LaTeX.
    engine
        The program that produces a PDF.
    flavour
        The flavour of Markdown.

    Raises
    ------
    DocumentError
        If the engine is missing or fails.

    """
    module = import_module(f".{extension}", __name__)
    made_by: Format = module.FLAVOURS[flavour] if extension == "md" else module.FORMAT
    return made_by.render(document, engine)
