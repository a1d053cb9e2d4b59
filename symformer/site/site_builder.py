"""Writes the site: the files of every part, in one folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from html import escape
from itertools import chain
from pathlib import Path

from ..language.errors import SiteError
from ..output.files import check_folder, write
from .atlas import atlas
from .guide import guide_files
from .playground_files import playground
from .site_address import checked_address
from .site_file import SiteFile, SiteOptions, SitePart
from .site_page import shared_files

PARTS: tuple[SitePart, ...] = (atlas, playground, guide_files)
MANIFEST = ".symformer-site.json"  # the paths of all files; a folder that has it was written by this module


def site_files(options: SiteOptions) -> Iterator[SiteFile]:
    """Return the files of the site, each made when it is taken. No two have the same path.

    Raises
    ------
    SymformerError
        At once if an option is wrong or a program or package is missing, before any file is made.

    """
    if options.base_url is not None:
        options = replace(options, base_url=checked_address(options.base_url, "--base-url"))
    return _distinct([part(options) for part in PARTS], options)


def _distinct(parts: Iterable[Iterator[SiteFile]], options: SiteOptions) -> Iterator[SiteFile]:
    paths: dict[str, None] = {}
    for file in chain(shared_files(), *parts):
        if file.path not in paths:
            paths[file.path] = None
            yield file
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


def check_site_folder(folder: str) -> None:
    """Raise SiteError or DocumentError unless a folder is new, empty, or a site that was written before."""
    place = Path(folder)
    if not place.exists():
        check_folder(str(place.absolute().parent))
        return
    if not place.is_dir():
        raise SiteError(f"{folder} is a file; give the name of a folder for the site")
    check_folder(folder)
    if any(place.iterdir()) and not (place / MANIFEST).is_file():
        raise SiteError(f"{folder} has files that symformer did not write; choose a new or an empty folder")


def write_site(folder: str, options: SiteOptions) -> Iterator[SiteFile]:
    """Write the files of the site into a folder, and yield each once it is written.

    Files of an earlier site that do not belong to it any more are removed at the end.
    """
    check_site_folder(folder)
    made = site_files(options)
    place = Path(folder)
    place.mkdir(exist_ok=True)
    before, now = _manifest(place), list[str]()
    write(str(place / MANIFEST), json.dumps(before).encode())
    for file in made:
        path = place / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        write(str(path), file.content)
        now.append(file.path)
        yield file
    write(str(place / MANIFEST), json.dumps(sorted(now), indent=0).encode())
    for stale in {*before} - {*now}:
        path = (place / stale).resolve()
        if place.resolve() in path.parents:
            path.unlink(missing_ok=True)
            with suppress(OSError):  # the folder has other files
                path.parent.rmdir()


def _manifest(place: Path) -> list[str]:
    """Return the paths of the files of an earlier site."""
    try:
        told = json.loads((place / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return [each for each in told if isinstance(each, str)] if isinstance(told, list) else []
