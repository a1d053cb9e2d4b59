"""The archive of Python code that the playground loads: the standard library, symformer and the packages it imports.

The archive is one gzip stream: the length of an index, the index (the paths and lengths of the files, as JSON), and the
contents of the files one after another. A worker unpacks it in milliseconds and writes no byte twice.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from ..catalogue.disk_cache import cache_folder
from ..documents.formats.base_language import templates
from ..language.errors import SiteError
from .pyodide_release import VERSION, node

PACKAGES = ("sympy", "mpmath", "jinja2", "markupsafe", "click", "rich")
# Parts of SymPy that symformer never reaches.
UNUSED = (
    "sympy/benchmarks/",
    "sympy/categories/",
    "sympy/crypto/",
    "sympy/diffgeom/",
    "sympy/holonomic/",
    "sympy/liealgebras/",
    "sympy/physics/",
    "sympy/sandbox/",
    "sympy/stats/",
    "sympy/testing/",
    "sympy/parsing/autolev/",
    "sympy/parsing/latex/",
    "sympy/parsing/c/",
    "sympy/parsing/fortran/",
    "mpmath/tests/",
    "symformer/templates/site/",
)
# Parts of the standard library that talk to servers or serve, which a browser cannot do.
UNUSED_STDLIB = ("ftplib.py", "imaplib.py", "poplib.py", "pydoc_data/", "smtplib.py", "wsgiref/", "xmlrpc/")
PATIENCE = 600.0  # seconds to compile 1,500 modules in WebAssembly, which takes about one minute


def package_archive(pyodide: Mapping[str, bytes], wheels: str | None = None) -> bytes:
    """Return the archive.

    Parameters
    ----------
    pyodide
        The files of Pyodide by name.
    wheels
        A folder of wheels built for this version of Pyodide, whose files are added as they are.

    Raises
    ------
    SiteError
        If a package is missing, or Node.js is not installed or cannot compile the modules.

    """
    sources = dict(sorted(_sources(pyodide, wheels)))
    digest = sha256(VERSION.encode() + (files(__package__) / "compile_modules.py").read_bytes())
    for path, content in sources.items():
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    folder = cache_folder("site")
    place = None if folder is None else folder / "packages.bin.gz"
    named = None if folder is None else folder / "packages.sha256"
    if place and named and place.is_file() and named.is_file() and named.read_text() == digest.hexdigest():
        return place.read_bytes()
    archive = _packed(_compiled(sources, pyodide))
    if place and named:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        named.unlink(missing_ok=True)
        place.write_bytes(archive)
        named.write_text(digest.hexdigest())
    return archive


def _sources(pyodide: Mapping[str, bytes], wheels: str | None) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of every file, below the folder of Python's standard library."""
    with ZipFile(BytesIO(pyodide["python_stdlib.zip"])) as stdlib:
        for name in stdlib.namelist():
            if not name.endswith("/") and not name.startswith(UNUSED_STDLIB):
                yield name, stdlib.read(name)
    for package in PACKAGES:
        try:
            installed = distribution(package)
        except PackageNotFoundError:
            raise SiteError(f"the playground of the site requires {package}, which is not installed") from None
        for file in installed.files or ():
            path = file.as_posix()
            if path.startswith(f"{package}/") and path.endswith((".py", ".json")) and _is_used(path):
                yield f"site-packages/{path}", Path(str(file.locate())).read_bytes()
    yield from _tree("site-packages/symformer", files("symformer"))
    yield from _tree("site-packages/symformer/templates", templates())
    for wheel in sorted(Path(wheels).glob("*.whl")) if wheels is not None else ():
        with ZipFile(wheel) as found:
            yield from ((f"site-packages/{name}", found.read(name)) for name in found.namelist() if name[-1] != "/")


def _is_used(path: str) -> bool:
    return not path.startswith(UNUSED) and "/tests/" not in path


def _tree(path: str, folder: Traversable) -> Iterator[tuple[str, bytes]]:
    for place in folder.iterdir():
        below = f"{path}/{place.name}"
        if place.is_dir():
            if place.name != "__pycache__" and _is_used(f"{below.removeprefix('site-packages/')}/"):
                yield from _tree(below, place)
        elif not place.name.endswith((".pyc", ".md")):
            yield below, place.read_bytes()


def _compiled(sources: Mapping[str, bytes], pyodide: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return the files with bytecode for their modules, compiled by Pyodide in Node.js."""
    with tempfile.TemporaryDirectory(prefix="symformer-") as folder:
        place = Path(folder)
        for name, content in pyodide.items():
            (place / name).write_bytes(content)
        for script in (templates() / "site" / "compile.mjs", files(__package__) / "compile_modules.py"):
            (place / script.name).write_bytes(script.read_bytes())
        with ZipFile(place / "sources.zip", "w", ZIP_DEFLATED, compresslevel=1) as archive:
            for path, content in sources.items():
                archive.writestr(path, content)
        command = [node(), str(place / "compile.mjs"), folder]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603
        except subprocess.TimeoutExpired:
            raise SiteError(f"Node.js did not compile the modules of the playground within {PATIENCE:g} s") from None
        if ran.returncode:
            said = next(filter(None, reversed(ran.stderr.split("\n"))), "no reason given")[:300]
            raise SiteError(f"Node.js cannot compile the modules of the playground: {said}")
        with ZipFile(place / "compiled.zip") as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def _packed(contents: Mapping[str, bytes]) -> bytes:
    """Return files as one gzip stream, the same bytes for the same files."""
    index = json.dumps([[path, len(content)] for path, content in contents.items()], separators=(",", ":")).encode()
    return gzip.compress(b"".join([len(index).to_bytes(4, "little"), index, *contents.values()]), 9, mtime=0)
