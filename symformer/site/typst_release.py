"""The pinned release of the Typst compiler for the browser, and the archive that the playground loads for a PDF."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from .build_cache import cached
from .npm_package import NpmPackage
from .packed_files import packed
from .typst_fonts import typst_fonts

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
    """Return the compiler and its fonts as one gzip stream. Raises SiteError if Typst is not installed.

    Parameters
    ----------
    release
        The files of the compiler by name.

    """
    contents = {"compiler.wasm": release[_COMPILER], **typst_fonts()}
    digest = sha256()
    for path, content in contents.items():
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return cached("typst.bin.gz", digest.hexdigest(), lambda: packed(contents))
