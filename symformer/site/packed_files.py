"""Many files as one gzip stream, for a worker to unpack.

The stream is the length of an index, the index (the paths and lengths of the files, as JSON), and the contents of the
files one after another. A worker unpacks it in milliseconds and writes no byte twice.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping


def packed(contents: Mapping[str, bytes]) -> bytes:
    """Return files by path as one gzip stream, the same bytes for the same files."""
    index = json.dumps([[path, len(content)] for path, content in contents.items()], separators=(",", ":")).encode()
    return gzip.compress(b"".join([len(index).to_bytes(4, "little"), index, *contents.values()]), 9, mtime=0)
