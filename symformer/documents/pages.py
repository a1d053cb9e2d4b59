"""Helpers for the pages of published formulas and numbers: tables, anchors, and plain text in a cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def anchor(heading: str) -> str:
    """Return the anchor of a heading: its letters, digits and hyphens, with spaces replaced by hyphens.

    >>> anchor("Whisper's README"), anchor("Vaswani et al. 2017, table 3")
    ('whispers-readme', 'vaswani-et-al-2017-table-3')
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def plain(text: str) -> str:
    """Return text for a table cell with all Markdown syntax escaped."""
    for mark in "\\|*_<>[]`":
        text = text.replace(mark, f"\\{mark}")
    return text
