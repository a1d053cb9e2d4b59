"""Output files: check early that a file can be written, and write it completely or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from ..language.errors import DocumentError, alternatives

_SPECIAL = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
_ENDS = tuple(filter(None, (os.sep, os.altsep)))  # the endings of a path that names a folder


_INPUTS: ContextVar[tuple[os.stat_result, ...]] = ContextVar("_INPUTS", default=())


@contextmanager
def protect_inputs(inputs: Iterable[str | int]) -> Iterator[None]:
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
    """Return the format of an output path: its extension, or the chosen format for ``-``, standard output.

    Raises DocumentError, before any work is done, if the file cannot be written.
    """
    known = alternatives(f".{name}" for name in formats)
    if not path.strip():
        raise DocumentError("the name of the output file is empty; give one, such as derivation.pdf")
    if path == "-":
        if chosen is None:
            raise DocumentError(f"{what} needs an output file; pass -o FILE.{formats[0]}")
        if not chosen:
            raise DocumentError("-o - has no extension; set the format, as in --format md")
        return chosen
    extension = Path(path).suffix.removeprefix(".").lower()
    target = _place(path)
    if target.is_dir():
        raise DocumentError(f"{path} is a folder; give a file name, such as {path.rstrip('/')}/derivation.pdf")
    if extension not in formats:
        ending = f"ends in .{extension}" if extension else "has no extension"
        raise DocumentError(f"{path} {ending}; {what} needs the extension {known}")
    if chosen and chosen != extension:
        raise DocumentError(
            f"{path} ends in .{extension}, but --format is {chosen}; remove --format or change the file name"
        )
    if not target.parent.is_dir():
        raise DocumentError(f"the folder {target.parent} does not exist; create it first, or choose another folder")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise DocumentError(f"{path} cannot be written: permission denied")
    return extension


def is_folder(path: str, formats: Sequence[str]) -> bool:
    """Return True if a path means a folder: it ends in a slash, or it is a folder.

    A folder whose name ends like a file of one of these formats needs the slash: ``-o paper.md`` means a file.
    """
    if path.endswith(_ENDS):
        return True
    return os.path.isdir(path) and Path(path).suffix.removeprefix(".").lower() not in formats


def check_new_folder(folder: str) -> None:
    """Raise DocumentError if a folder is not writable, or does not exist and cannot be created."""
    place = Path(folder)
    if place.is_dir() or not folder.endswith(_ENDS):
        return check_folder(folder)
    if os.path.lexists(folder.rstrip("".join(_ENDS))):
        raise DocumentError(f"{folder} cannot be created, because a file has that name; choose another folder")
    return check_folder(str(place.parent))


def check_folder(folder: str, to_write: bool = True) -> None:
    """Raise DocumentError if a folder does not exist, or is not readable or writable as required."""
    if not os.path.isabs(folder):
        _here()
    try:
        there = Path(folder).is_dir()
    except OSError as error:
        raise DocumentError(f"{folder} cannot be a folder: {error.strerror}") from None
    if not there:
        raise DocumentError(f"the folder {folder} does not exist; create it first, or choose another")
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
        special = _SPECIAL.get(stat.S_IFMT(kind.st_mode), "a special file")
        raise DocumentError(f"{path} is {special}, not a regular file; use -o - to write to standard output")
    if any(os.path.samestat(kind, each) for each in _INPUTS.get()):
        raise DocumentError(f"{path} is an input of this command and would be overwritten; write to another file")
    if kind.st_nlink > 1:
        raise DocumentError(
            f"{path} is one of {kind.st_nlink} hard links to a file, and writing it would break the link; "
            "remove it first, or write elsewhere"
        )
    return target


def _here() -> None:
    """Raise DocumentError if the working directory has been deleted."""
    try:
        os.getcwd()
    except OSError:
        raise DocumentError("the working directory has been deleted; change to an existing one") from None


def write(path: str, content: bytes) -> None:
    """Write a file completely or not at all. Raises DocumentError if it cannot be written."""
    _put({path: content})


def _put(made: Mapping[str, bytes]) -> None:
    """Write files by their paths: all of them to temporary files first, which then replace the targets."""
    places = {path: _place(path) for path in made}
    partials: dict[str, str] = {}
    with _clearing(partials):
        for path, content in made.items():
            with _begun(path, places[path], partials) as file:
                file.write(content)
        for path, partial in partials.items():
            os.replace(partial, places[path])


@contextmanager
def replace_file(path: str) -> Iterator[BinaryIO]:
    """Yield a file to write to, which replaces the target once it is complete. Raises DocumentError."""
    place = _place(path)
    partials: dict[str, str] = {}
    with _clearing(partials):
        with _begun(path, place, partials) as file:
            yield file
        os.replace(partials[path], place)


@contextmanager
def _begun(path: str, place: Path, partials: dict[str, str]) -> Iterator[BinaryIO]:
    """Yield a temporary file in the folder of the target, with the permissions of the target."""
    partials[path] = ""  # the path that an error names
    handle, partials[path] = tempfile.mkstemp(dir=place.parent, prefix=".symformer-")
    with os.fdopen(handle, "wb") as file:
        yield file
    os.chmod(partials[path], _permissions(place))


@contextmanager
def _clearing(partials: Mapping[str, str]) -> Iterator[None]:
    """Remove the temporary files if the block fails."""
    try:
        yield
    except BaseException as error:  # including Ctrl-C
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
    """Write files into a folder, which is created if its name ends in a slash.

    Raises DocumentError, before writing the first file, if one of them cannot be written.
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
            raise DocumentError(f"{folder} cannot be created: {error.strerror}") from None
        raise


def check_files(folder: str, names: Iterable[str]) -> None:
    """Raise DocumentError if files of these names cannot be written into a folder."""
    check_new_folder(folder)
    for name in names:
        path = str(Path(folder) / name)
        if _place(path).is_dir():
            raise DocumentError(f"{path} is a folder, but a file of that name must be written; remove it first")


def stale(folder: str, made: Mapping[str, bytes]) -> list[str]:
    """Return the names of the files that are missing, out of date or not expected."""
    check_folder(folder, to_write=False)
    files = [place for place in Path(folder).iterdir() if place.is_file()]
    there = {place.name: place.read_bytes() for place in files}
    return sorted(name for name in {*there, *made} if there.get(name) != made.get(name))
