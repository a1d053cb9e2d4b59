"""Files: whether one can be written, before any work is done; and one that is written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from ..language.errors import DocumentError

_SPECIAL = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
_ENDS = tuple(filter(None, (os.sep, os.altsep)))  # what a path that names a folder may end with


_INPUTS: ContextVar[tuple[os.stat_result, ...]] = ContextVar("_INPUTS", default=())


@contextmanager
def protecting(inputs: Iterable[str | int]) -> Iterator[None]:
    """Refuse to write these files inside the block, whatever path is used: a command never overwrites its inputs.

    Parameters
    ----------
    inputs
        Paths and file descriptors. Paths that do not exist and files that are not regular are skipped, because no
        output replaces them.

    """
    found = []
    for each in inputs:
        with suppress(OSError, ValueError):
            found.append(os.stat(each))
    token = _INPUTS.set(tuple(each for each in found if stat.S_ISREG(each.st_mode)))
    try:
        yield
    finally:
        _INPUTS.reset(token)


def check_output(path: str, what: str, formats: Sequence[str], chosen: str | None = None) -> str:
    """The format that a file's name asks for, or the one chosen for standard output, which is ``-``.

    Raises DocumentError before any work is done where the file cannot be written.
    """
    known = ", ".join(f".{name}" for name in formats)
    if not path.strip():
        raise DocumentError("the name of the file is empty; give one, such as derivation.pdf")
    if path == "-":
        if chosen is None:
            raise DocumentError(f"{what} is written to a file; give its name, such as FILE.{formats[0]}")
        if not chosen:
            raise DocumentError("-o - is standard output, whose name tells no format; give one, as in --as md")
        return chosen
    extension = Path(path).suffix.removeprefix(".").lower()
    target = _place(path)
    if target.is_dir():
        raise DocumentError(f"{path} is a folder; give the name of a file, such as {path.rstrip('/')}/derivation.pdf")
    if extension not in formats:
        asked = f"not as .{extension}" if extension else f"and {path!r} ends in none of these"
        raise DocumentError(f"{what} is written as {known}, {asked}")
    if chosen and chosen != extension:
        raise DocumentError(f"{path} ends in .{extension} and --as asks for {chosen}; keep one of the two")
    if not target.parent.is_dir():
        raise DocumentError(f"the folder {target.parent} does not exist; make it first, or write elsewhere")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise DocumentError(f"{path} cannot be written: permission denied")
    return extension


def is_folder(path: str, formats: Sequence[str]) -> bool:
    """Return whether a path is meant as a folder: it ends in a slash, or it is a folder.

    A folder whose name ends like a file of one of these formats needs the slash: ``-o paper.md`` means a file.
    """
    if path.endswith(_ENDS):
        return True
    return os.path.isdir(path) and Path(path).suffix.removeprefix(".").lower() not in formats


def check_new_folder(folder: str) -> None:
    """Raise DocumentError where a folder is not there to be written into, and cannot be made."""
    place = Path(folder)
    if place.is_dir() or not folder.endswith(_ENDS):
        return check_folder(folder)
    if os.path.lexists(folder.rstrip("".join(_ENDS))):
        raise DocumentError(f"{folder} is to be a folder, and a file of that name is there; name another")
    return check_folder(str(place.parent))


def check_folder(folder: str, to_write: bool = True) -> None:
    """Raise DocumentError where a folder is not there to be read, or to be written into."""
    if not os.path.isabs(folder):
        _here()
    try:
        there = Path(folder).is_dir()
    except OSError as error:
        raise DocumentError(f"{folder} cannot be a folder: {error.strerror}") from None
    if not there:
        raise DocumentError(f"the folder {folder} does not exist; make it first, or name another")
    if not os.access(folder, os.W_OK | os.X_OK if to_write else os.R_OK | os.X_OK):
        raise DocumentError(f"{folder} cannot be {'written into' if to_write else 'read'}: permission denied")


def _place(path: str) -> Path:
    """Return the path to write to: the target of a symbolic link, so that the link is kept.

    Raises DocumentError for a path that must not be replaced: a device, a pipe, a file with hard links, an input.
    """
    try:
        target = Path(path)
        if target.is_symlink():
            target = Path(os.path.realpath(path, strict=target.exists()))
        kind = target.stat()
    except FileNotFoundError:
        if not target.is_absolute():
            _here()
        return target
    except (OSError, RuntimeError, ValueError) as error:
        raise DocumentError(f"{path[:80]} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISDIR(kind.st_mode):
        return target
    if not stat.S_ISREG(kind.st_mode):
        special = _SPECIAL.get(stat.S_IFMT(kind.st_mode), "no file")
        raise DocumentError(f"{path} is {special}, and what is written replaces a file; -o - writes to standard output")
    if any(os.path.samestat(kind, each) for each in _INPUTS.get()):
        raise DocumentError(f"{path} is an input of this command and would be overwritten; write to another file")
    if kind.st_nlink > 1:
        raise DocumentError(
            f"{path} is one of {kind.st_nlink} names of a file (hard links), which writing it anew would part; "
            "remove it first, or write elsewhere"
        )
    return target


def _here() -> None:
    """Raise DocumentError where the working directory is gone."""
    try:
        os.getcwd()
    except OSError:
        raise DocumentError("the working directory has been deleted; change to one that is there") from None


def write(path: str, content: bytes) -> None:
    """Write a file whole or not at all. Raises DocumentError when it cannot be written."""
    _put({path: content})


def _put(made: Mapping[str, bytes]) -> None:
    """Write files by their paths: each whole, and all beside where they go before the first is put there."""
    places = {path: _place(path) for path in made}
    partials: dict[str, str] = {}
    with _clearing(partials):
        for path, content in made.items():
            with _begun(path, places[path], partials) as file:
                file.write(content)
        for path, partial in partials.items():
            os.replace(partial, places[path])


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write into, which takes its place once all of it is there. Raises DocumentError."""
    place = _place(path)
    partials: dict[str, str] = {}
    with _clearing(partials):
        with _begun(path, place, partials) as file:
            yield file
        os.replace(partials[path], place)


@contextmanager
def _begun(path: str, place: Path, partials: dict[str, str]) -> Iterator[BinaryIO]:
    """A file beside where it goes, with the permissions that it has there."""
    partials[path] = ""  # the one that an error is about
    handle, partials[path] = tempfile.mkstemp(dir=place.parent, prefix=".symformer-")
    with os.fdopen(handle, "wb") as file:
        yield file
    os.chmod(partials[path], _permissions(place))


@contextmanager
def _clearing(partials: Mapping[str, str]) -> Iterator[None]:
    """Leave nothing half-written, whatever ends it."""
    try:
        yield
    except BaseException as error:  # Ctrl-C among them: nothing half-written stays
        for partial in filter(None, partials.values()):
            Path(partial).unlink(missing_ok=True)
        if isinstance(error, OSError):
            path = [*partials][-1]
            raise DocumentError(f"{path} cannot be written: {error.strerror}") from None
        raise


def _permissions(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_all(folder: str, made: Mapping[str, bytes]) -> None:
    """Write files into a folder, which is made where its name ends in a slash.

    Raises DocumentError, before the first where one cannot be written.
    """
    check_files(folder, made)
    new = not Path(folder).is_dir()
    try:
        if new:
            Path(folder).mkdir()
        _put({str(Path(folder) / name): content for name, content in made.items()})
    except BaseException as error:
        with suppress(OSError):
            if new:
                Path(folder).rmdir()
        if isinstance(error, OSError):
            raise DocumentError(f"{folder} cannot be made: {error.strerror}") from None
        raise


def check_files(folder: str, names: Iterable[str]) -> None:
    """Raise DocumentError where files of these names cannot be written into a folder."""
    check_new_folder(folder)
    for name in names:
        path = str(Path(folder) / name)
        if _place(path).is_dir():
            raise DocumentError(f"{path} is a folder, and a file of that name would be written; remove it first")


def stale(folder: str, made: Mapping[str, bytes]) -> list[str]:
    """The files that are missing or differ from what would be written, and those that nothing writes."""
    check_folder(folder, to_write=False)
    files = [place for place in Path(folder).iterdir() if place.is_file()]
    there = {place.name: place.read_bytes() for place in files}
    return sorted(name for name in {*there, *made} if there.get(name) != made.get(name))
