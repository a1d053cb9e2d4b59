"""Writes the site: the files of every part, in one folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import chain

from .atlas import atlas
from .site_file import SiteFile, SiteOptions, SitePart
from .site_page import shared_files

PARTS: tuple[SitePart, ...] = (atlas,)


def site_files(options: SiteOptions) -> Iterator[SiteFile]:
    """Yield the files of the site, each as soon as it is made."""
    paths: list[str] = []
    for made in chain(shared_files(), chain.from_iterable(part(options) for part in PARTS)):
        paths.append(made.path)
        yield made
    if options.base_url:
        yield sitemap(paths, options.base_url)


def sitemap(paths: Iterable[str], base_url: str) -> SiteFile:
    """Return the sitemap of the pages among these files.

    >>> sitemap(["index.html", "models/gpt2.html", "a.css"], "https://a.org/b/").content.decode().count("<loc>")
    2
    """
    base = base_url.rstrip("/")
    pages = [path.removesuffix("index.html") for path in paths if path.endswith(".html")]
    rows = "".join(f"<url><loc>{escape(f'{base}/{path}')}</loc></url>\n" for path in pages)
    start = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    return SiteFile("sitemap.xml", f"{start}{rows}</urlset>\n".encode())
