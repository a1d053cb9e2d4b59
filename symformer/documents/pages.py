"""What the pages of published formulas and numbers are made of: tables, anchors, and plain text in a cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in Markdown, line by line."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def anchor(heading: str) -> str:
    """What a link to a heading of the same page ends in: letters, digits, hyphens, and a hyphen for each space.

    >>> anchor("Whisper's README"), anchor("Vaswani et al. 2017, table 3")
    ('whispers-readme', 'vaswani-et-al-2017-table-3')
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def plain(text: str) -> str:
    """Text for a cell, with every mark that means something in Markdown or would end the cell escaped."""
    for mark in "\\|*_<>[]`":
        text = text.replace(mark, f"\\{mark}")
    return text
