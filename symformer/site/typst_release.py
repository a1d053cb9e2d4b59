"""The pinned release of the Typst compiler for the browser, and the archive that the playground loads for a PDF."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files

from .build_cache import cached
from .npm_package import NpmPackage
from .packed_files import packed
from .typst_fonts import displayed_characters, typst_fonts

SCRIPT = "typst_ts_web_compiler.mjs"
_COMPILER = "typst_ts_web_compiler_bg.wasm"
# A release candidate, because it is the first with Typst 0.15, which writes the same pages as the command line.
TYPST = NpmPackage(
    "@myriaddreamin/typst-ts-web-compiler",
    "0.8.0-rc3",
    "akc8TlhBzldlU1DtbDvR/6ufzgJmQrZMqfYY2fCFbH7y/+h3YdmnyF+twtVqwv+g6YuFXm/Oc1wwa6cYQX4/aw==",
    (f"pkg/{SCRIPT}", f"pkg/{_COMPILER}"),
)


def typst_archive(release: Mapping[str, bytes]) -> bytes:
    """Return the compiler, its fonts and their characters as one gzip stream.

    Parameters
    ----------
    release
        The files of the compiler by name.

    Raises
    ------
    SiteError
        If Typst is not installed, or has no fonts.

    """
    fonts = typst_fonts()
    contents = {"compiler.wasm": release[_COMPILER], **fonts}
    digest = sha256((files(__package__) / "typst_fonts.py").read_bytes())
    for path, content in contents.items():
        digest.update(f"{path}\0{len(content)}\0".encode() + content)

    def made() -> bytes:
        characters = json.dumps(displayed_characters(fonts.values())).encode()
        return packed({**contents, "characters.json": characters})

    return cached("typst.bin.gz", digest.hexdigest(), made)
