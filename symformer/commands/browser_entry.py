"""The entry point of the playground: answers a question in the browser, with the commands of the command line."""

from __future__ import annotations

from ..site.browser_answers import browser_answer
from .cli import cli


def answer(asked: str) -> str:
    """Return the answer to a question; both are JSON."""
    return browser_answer(asked, cli)
