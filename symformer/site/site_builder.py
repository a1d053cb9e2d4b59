"""Writes the site: the files of every part, in one folder."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from .guide import guide_files
from .site_file import SiteFile, SiteOptions, SitePart

PARTS: tuple[SitePart, ...] = (guide_files,)


def site_files(options: SiteOptions) -> Iterator[SiteFile]:
    """Yield the files of the site, each as soon as it is made."""
    yield from chain.from_iterable(part(options) for part in PARTS)
