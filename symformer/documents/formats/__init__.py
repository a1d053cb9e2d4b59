"""Formats: what a document is written as, one a file, which is called as the files that it writes end."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from ..blocks import Document
    from .language import Format

Engine = Literal["typst", "latex"]
Flavour = Literal["github", "jupyter", "commonmark"]
FLAVOURS: tuple[Flavour, ...] = get_args(Flavour)  # of Markdown; the first is the usual one
FORMATS = ("pdf", "tex", "md", "typ", "html")  # the first is the usual one


def render(document: Document, extension: str, engine: Engine = "typst", flavour: Flavour = "github") -> bytes:
    """A document as the bytes of a file: pdf, tex, md, typ or html. Raises DocumentError for a missing engine."""
    module = import_module(f".{extension}", __name__)
    made_by: Format = module.FLAVOURS[flavour] if extension == "md" else module.FORMAT
    return made_by.render(document, engine)
