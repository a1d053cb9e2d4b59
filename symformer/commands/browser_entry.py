"""The entry point of the playground: answers a question in the browser, with the commands of the command line."""

from __future__ import annotations

from ..site.browser_answers import browser_answer
from ..site.browser_typst import BrowserCompiler
from .cli import cli


def answer(asked: str, compiler: BrowserCompiler | None = None) -> str:
    """Return the answer to a question; both are JSON. The compiler is there if the question needs a PDF."""
    return browser_answer(asked, cli, compiler)
