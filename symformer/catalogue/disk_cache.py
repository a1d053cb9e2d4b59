"""The on-disk cache of traces, which take seconds to compute.

There is one file per model and quantity, written atomically. Damaged files and files of other versions are ignored.
``SYMFORMER_CACHE`` sets the folder; an empty value disables the cache.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..language.errors import CatalogueError, SymformerError
from .codec import from_data, to_data
from .record import OPERATIONS, Record

VARIABLE = "SYMFORMER_CACHE"
LIBRARIES = ("torch", "transformers")
MOST = 10_000_000  # bytes, more than the size of any record


class Store:
    """The cached records of one model, identified by its config and the versions of the libraries that read it."""

    def __init__(self, of: Mapping[str, Any], libraries: Sequence[str] = LIBRARIES) -> None:
        said = {"of": of, "versions": versions(libraries), "code": digest()}
        self.key = sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def find(self, quantity: str) -> Record | None:
        """Return the record of a quantity, or None if there is no readable record."""
        place = self._place(quantity)
        try:
            if place is None or not place.is_file() or place.stat().st_size > MOST:  # reading a pipe would block
                return None
            said = json.loads(place.read_text("utf-8"))
            if not isinstance(said, dict) or said.get("key") != self.key or said.get("digest") != _of(said["record"]):
                return None
            found: Record = from_data(Record, said["record"])
            _ = found.operations if quantity == OPERATIONS else found.counted
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, SymformerError):
            return None
        return found

    def keep(self, quantity: str, record: Record) -> None:
        """Write a record. Errors are ignored, because the cache is optional."""
        place = self._place(quantity)
        if place is None:
            return
        with suppress(OSError, CatalogueError):
            data = to_data(record)
            written = json.dumps({"key": self.key, "digest": _of(data), "record": data})
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, partial = tempfile.mkstemp(dir=place.parent, prefix=".symformer-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(written)
                os.replace(partial, place)  # atomic, for concurrent writers
            except BaseException:
                Path(partial).unlink(missing_ok=True)
                raise

    def _place(self, quantity: str) -> Path | None:
        folder = cache_folder("traces")
        return None if folder is None else folder / f"{self.key[:32]}.{quantity}.json"


def versions(libraries: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """Return the versions of the installed libraries."""
    found = {}
    for library in libraries:
        with suppress(PackageNotFoundError):
            found[library] = version(library).partition("+")[0]
    return found


@cache
def digest() -> str:
    """Return a digest of the package's source, which changes more often than its version."""
    package = Path(__file__).parent.parent
    return sha256(b"".join(place.read_bytes() for place in sorted(package.rglob("*.py")))).hexdigest()[:16]


def cache_folder(kind: str) -> Path | None:
    """Return the folder that caches files of a kind, such as traces, or None if there is no cache."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) / kind if named else None
    base = os.environ.get("XDG_CACHE_HOME", "")
    with suppress(RuntimeError):  # a user without a home
        return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "symformer" / kind
    return None


def _of(data: Any) -> str:
    return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
