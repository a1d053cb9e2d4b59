"""Formats: what a document is written as, one a file, which is called as the files that it writes end."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ..blocks import Document
    from .language import Format

Engine = Literal["typst", "latex"]
FORMATS = ("pdf", "tex", "md", "typ", "html")  # the first is the usual one


def render(document: Document, extension: str, engine: Engine = "typst") -> bytes:
    """A document as the bytes of a file: pdf, tex, md, typ or html. Raises DocumentError for a missing engine."""
    made_by: Format = import_module(f".{extension}", __name__).FORMAT
    return made_by.render(document, engine)
