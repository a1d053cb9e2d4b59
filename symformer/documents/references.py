"""The references of a document: the papers that it cites, in the order of citation."""

from __future__ import annotations

from collections.abc import Sequence

from ..output.blocks import Block, Heading, References, numbered
from ..papers import paper


def with_references(blocks: Sequence[Block]) -> tuple[list[Block], list[str]]:
    """Return numbered blocks followed by the list of references, and the keys of the cited papers."""
    found, keys = numbered(blocks)
    if keys:
        entries = [(key, paper(key).byline, paper(key).title, paper(key).place) for key in keys]
        found += [Heading(1, ["References"]), References(entries)]
    return found, keys
