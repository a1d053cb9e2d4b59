"""Writes the site: the files of every part, in one folder."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from .atlas import atlas
from .site_file import SiteFile, SiteOptions, SitePart
from .site_page import shared_files

PARTS: tuple[SitePart, ...] = (atlas,)


def site_files(options: SiteOptions) -> Iterator[SiteFile]:
    """Yield the files of the site, each as soon as it is made."""
    yield from shared_files()
    yield from chain.from_iterable(part(options) for part in PARTS)
