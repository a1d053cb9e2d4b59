"""A cache of the large files that a build of the site makes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ..catalogue.disk_cache import cache_folder
from ..language.errors import DocumentError
from ..output.files import write


def cached(name: str, digest: str, make: Callable[[], bytes]) -> bytes:
    """Return a file from the cache if it was made from the same sources, or else make it.

    The cached file starts with the digest of its sources. Errors of the cache are ignored, because it is optional.
    """
    folder = cache_folder("site")
    place = None if folder is None else folder / name
    head = bytes.fromhex(digest)
    with suppress(OSError):
        if place is not None and (kept := place.read_bytes()).startswith(head):
            return kept[len(head) :]
    content = make()
    with suppress(OSError, DocumentError):
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write(str(place), head + content)
    return content
