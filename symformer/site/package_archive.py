"""The archive of Python code that the playground loads: the standard library, symformer and the packages it imports."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, is_zipfile

from ..documents.formats.base_language import templates
from ..language.errors import SiteError
from .build_cache import cached
from .npm_package import node
from .packed_files import packed
from .pyodide_release import PYODIDE

OWN = "site-packages/symformer/"
PACKAGES = ("sympy", "mpmath", "jinja2", "markupsafe", "click", "rich")
# Parts of SymPy that symformer never reaches: the rest of SymPy imports them only to print or test their own objects.
UNUSED = (
    "sympy/benchmarks/",
    "sympy/categories/",
    "sympy/crypto/",
    "sympy/diffgeom/",
    "sympy/holonomic/",
    "sympy/liealgebras/",
    *(f"sympy/physics/{name}/" for name in ("biomechanics", "continuum_mechanics", "control", "hep", "mechanics")),
    *(f"sympy/physics/{name}" for name in ("hydrogen.py", "optics/", "paulialgebra.py", "pring.py", "qho_1d.py")),
    *(f"sympy/physics/{name}" for name in ("quantum/", "secondquant.py", "sho.py", "vector/", "wigner.py")),
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
    release = sha256(PYODIDE.version.encode() + (files(__package__) / "compile_modules.py").read_bytes()).hexdigest()
    sources = dict(sorted(_sources(pyodide, wheels)))
    own = {path: content for path, content in sources.items() if path.startswith(OWN)}
    libraries = {path: content for path, content in sources.items() if path not in own}
    groups = {"symformer": own, "libraries": libraries}
    digests = {name: _digest(release, group) for name, group in groups.items()}

    def made() -> bytes:
        compiled = {
            name: cached(f"{name}.zip", digests[name], partial(_compiled, group, pyodide))
            for name, group in groups.items()
        }
        return _packed(compiled.values())

    return cached("packages.bin.gz", sha256("".join(digests.values()).encode()).hexdigest(), made)


def _digest(release: str, sources: Mapping[str, bytes]) -> str:
    found = sha256(release.encode())
    for path, content in sources.items():
        found.update(f"{path}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


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
    for wheel in check_wheels(wheels):
        with ZipFile(wheel) as found:
            yield from ((f"site-packages/{name}", found.read(name)) for name in found.namelist() if name[-1] != "/")


def check_wheels(folder: str | None) -> list[Path]:
    """Return the wheels in a folder. Raises SiteError if it has none, or one is built for another platform."""
    if folder is None:
        return []
    found = sorted(Path(folder).glob("*.whl"))
    if not found:
        raise SiteError(f"{folder} has no wheels (.whl)")
    for wheel in found:
        if not wheel.stem.endswith(("-any", "_wasm32")):
            raise SiteError(f"{wheel.name} is not built for Pyodide; the name of such a wheel ends in _wasm32.whl")
        if not is_zipfile(wheel):
            raise SiteError(f"{wheel} is not a wheel, because it is not a ZIP archive")
    return found


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


def _compiled(sources: Mapping[str, bytes], pyodide: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive of files with bytecode for their modules, compiled by Pyodide in Node.js."""
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
        return (place / "compiled.zip").read_bytes()


def _packed(archives: Iterable[bytes]) -> bytes:
    """Return the files of ZIP archives as one gzip stream."""
    contents: dict[str, bytes] = {}
    for each in archives:
        with ZipFile(BytesIO(each)) as archive:
            contents |= {name: archive.read(name) for name in archive.namelist()}
    return packed(contents)
