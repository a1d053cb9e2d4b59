"""The module ``typst`` in the browser, where the compiler is WebAssembly and its worker loads it for a PDF."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Protocol

from ..language.errors import DocumentError


class BrowserCompiler(Protocol):
    """The compiler, an object of ``typst.mjs``."""

    def pdf(self, source: str, timestamp: int) -> Any:
        """Return ``content``, the bytes of a PDF, or ``error``, the first error."""

    def query(self, source: str, selector: str, field: str) -> Any:
        """Return ``content``, the values of a field as JSON, or ``error``, the first error."""

    def lacks(self, text: str) -> bool:
        """Return True if no font has a character of a text."""


@contextmanager
def typst_module(compiler: BrowserCompiler | None) -> Iterator[None]:
    """Make ``import typst`` use a compiler, unless it is None."""
    if compiler is None:
        yield
        return
    from ..documents.figures.text_width import measures  # the first answer does not need it

    before = sys.modules.get("typst")
    sys.modules["typst"] = _TypstModule(compiler)
    measures.cache_clear()
    try:
        yield
    finally:
        del sys.modules["typst"]
        if before is not None:
            sys.modules["typst"] = before
        measures.cache_clear()


class _TypstModule(ModuleType):
    """The functions of the package ``typst`` that symformer calls, with the same arguments and errors."""

    def __init__(self, compiler: BrowserCompiler) -> None:
        super().__init__("typst")
        self.__spec__ = ModuleSpec("typst", None)
        self._compiler = compiler

    def lacks(self, character: str) -> bool:
        """Return True if no font has a character. The package finds out with PDF/UA, which this compiler lacks."""
        return bool(self._compiler.lacks(character))

    def compile(self, source: bytes, *, format: str = "pdf", timestamp: int = 0, **_: object) -> bytes:
        """Return a PDF. It is tagged, but does not declare PDF/UA: no release of the compiler has an option for that.

        The option is in its sources, as ``TypstCompilerBuilder.set_pdf_opts`` (typst.ts, pull request 878).
        """
        if format != "pdf":
            raise DocumentError(f"the playground writes no .{format} with Typst; run the command on your own computer")
        content = _content(self._compiler.pdf(source.decode(), timestamp))
        return bytes(content.to_bytes() if hasattr(content, "to_bytes") else content)

    def query(self, source: bytes, selector: str, *, field: str, **_: object) -> str:
        """Return the values of a field of the elements of a selector, as JSON."""
        return str(_content(self._compiler.query(source.decode(), selector, field)))


def _content(made: Any) -> Any:
    if getattr(made, "error", None):
        raise RuntimeError(str(made.error))
    return made.content
