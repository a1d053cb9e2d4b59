"""Find and open the files of a checkpoint: one file, a folder, or an index with its shards."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Sequence
from typing import Any

from ..language.errors import CheckpointError, listed, quoted
from .checkpoint import Checkpoint, Header
from .gguf_header import read_gguf
from .safetensors_header import read_safetensors

SAFETENSORS, GGUF, INDEX = ".safetensors", ".gguf", ".safetensors.index.json"
# Files with pickled objects, which can run code when they are loaded, and formats of other libraries.
OTHERS = (".bin", ".pt", ".pth", ".pkl", ".ckpt", ".h5", ".msgpack", ".npz", ".onnx", ".pdparams", ".bin.index.json")
ONLY = "only safetensors and GGUF files are supported"
MAX_INDEX, MAX_FILES, MAX_TENSORS = 64_000_000, 10_000, 2_000_000
_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL)


def is_checkpoint(path: str) -> bool:
    """Return whether a path names a checkpoint: by its ending, or as a folder with weights but without a config.json.

    >>> is_checkpoint("model.safetensors"), is_checkpoint("gpt2"), is_checkpoint("a/model.safetensors.index.json")
    (True, False, True)
    """
    if path.endswith((SAFETENSORS, GGUF, INDEX, *OTHERS)):
        return True
    try:
        names = set(os.listdir(path)) if os.path.isdir(path) else set[str]()
    except (OSError, ValueError):
        return False
    return "config.json" not in names and any(name.endswith((SAFETENSORS, GGUF, INDEX, *OTHERS)) for name in names)


def checkpoint_in(folder: str) -> str:
    """Return the path of the checkpoint in a folder, without reading it; "" if there is none or more than one."""
    try:
        return os.path.join(folder, _file_in(folder)) if os.path.isdir(folder) else ""
    except (OSError, ValueError, CheckpointError):
        return ""


def open_checkpoint(path: str) -> Checkpoint:
    """Return the contents of a checkpoint, from the headers of its files.

    Parameters
    ----------
    path : str
        A .safetensors or .gguf file, an index (model.safetensors.index.json), or a folder.

    Raises
    ------
    CheckpointError
        If a file is missing, of another kind, damaged or truncated, or exceeds a limit; or if its library is not
        installed.

    """
    try:
        return _open(path)
    except FileNotFoundError as error:
        raise CheckpointError(f"{error.filename or path} does not exist") from None
    except OSError as error:
        raise CheckpointError(f"{error.filename or path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a path with a zero byte
        raise CheckpointError(f"{path!r} is not a valid path: {error}") from None


def _open(path: str) -> Checkpoint:
    if stat.S_ISDIR(os.stat(path).st_mode):
        return _open(os.path.join(path, _file_in(path)))
    if path.endswith(INDEX):
        return _indexed(path)
    if path.endswith(OTHERS):
        raise CheckpointError(f"{path} is not a safetensors or GGUF file; {ONLY}")
    folder, name = os.path.split(path)
    if part := _PART.fullmatch(name):
        total = int(part[3])
        if not 0 < total <= MAX_FILES:
            raise CheckpointError(f"{path} is one of {total:,} parts by its name; the limit is {MAX_FILES:,}")
        names = [f"{part[1]}-{number:05}-of-{part[3]}.gguf" for number in range(1, total + 1)]
        return Checkpoint(path, "GGUF", _headers(path, folder, names))
    return Checkpoint(path, "GGUF" if name.endswith(GGUF) else "safetensors", {name: _header(path)})


def _headers(path: str, folder: str, names: Sequence[str]) -> dict[str, Header]:
    """Return the headers of several files. Raises CheckpointError if they have too many tensors."""
    found: dict[str, Header] = {}
    total = 0
    for name in names:
        found[name] = _header(os.path.join(folder, name))
        total += len(found[name].tensors)
        if total > MAX_TENSORS:
            raise CheckpointError(f"{path} has more than the limit of {MAX_TENSORS:,} tensors")
    return found


def _header(path: str) -> Header:
    about = os.stat(path)
    if not stat.S_ISREG(about.st_mode):
        raise CheckpointError(f"{path} is not a regular file")
    if not about.st_size:
        raise CheckpointError(f"{path} is empty")
    if path.endswith(GGUF):
        return read_gguf(path, about.st_size)
    if path.endswith(SAFETENSORS):
        return read_safetensors(path, about.st_size)
    raise CheckpointError(f"{path} does not end in .safetensors or .gguf; {ONLY}")


def _file_in(folder: str) -> str:
    """Return the name of the checkpoint in a folder. Raises CheckpointError unless there is exactly one."""
    names = sorted(os.listdir(folder))
    indexes = [name for name in names if name.endswith(INDEX)]
    whole = [name for name in names if name.endswith(SAFETENSORS)]
    parts = [name for name in names if (part := _PART.fullmatch(name)) and int(part[2]) == 1]
    ggufs = parts + [name for name in names if name.endswith(GGUF) and not _PART.fullmatch(name)]
    for found in (indexes, whole if not indexes else [], ggufs if not indexes and not whole else []):
        if len(found) == 1:
            return found[0]
        if found:
            why = "" if found is indexes or found is ggufs else " and no index"
            raise CheckpointError(f"{folder} has several checkpoint files{why} ({listed(found)}); name one of them")
    if pickled := [name for name in names if name.endswith(OTHERS)]:
        raise CheckpointError(f"{folder} has no safetensors or GGUF file, but {listed(pickled)}; {ONLY}")
    raise CheckpointError(f"{folder} has no .safetensors or .gguf file")


def _indexed(path: str) -> Checkpoint:
    index = _index(path)
    shards = index["weight_map"]
    names = sorted(set(shards.values()))
    if len(names) > MAX_FILES:
        raise CheckpointError(f"{path} names {len(names):,} files, more than the limit of {MAX_FILES:,}")
    for name in names:
        if name in ("", ".", "..") or re.search(r"[/\\\0]", name) or not name.endswith(SAFETENSORS):
            raise CheckpointError(
                f"{path} names the file {quoted(name)}; it should be a .safetensors file in the same folder"
            )
    folder = os.path.dirname(path)
    for name in names:
        if not os.path.lexists(os.path.join(folder, name)):
            raise CheckpointError(
                f"{path} names {name}, which does not exist in the same folder; download every file in the index"
            )
    files = _headers(path, folder, names)
    stored = {tensor.name: name for name, header in files.items() for tensor in header.tensors}
    if other := [name for name, shard in shards.items() if stored.get(name) != shard]:
        raise CheckpointError(
            f"{path} lists {quoted(other[0])} in {shards[other[0]]}, which does not contain it"
            + (f"; {len(other):,} tensors are not where the index lists them" if len(other) > 1 else "")
        )
    if unlisted := sorted(stored.keys() - shards.keys()):
        raise CheckpointError(f"{path} does not list {quoted(unlisted[0])}, which {stored[unlisted[0]]} contains")
    if len(stored) != sum(len(header.tensors) for header in files.values()):
        raise CheckpointError(f"{path} names files that contain the same tensor twice")
    total = index.get("metadata", {}).get("total_size") if isinstance(index.get("metadata"), dict) else None
    return Checkpoint(path, "safetensors", files, _whole(total))


def _whole(value: Any) -> int | None:
    """Return an integer; older versions wrote it as a float."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _index(path: str) -> dict[str, Any]:
    about = os.stat(path)
    if not stat.S_ISREG(about.st_mode):
        raise CheckpointError(f"{path} is not a regular file")
    if about.st_size > MAX_INDEX:
        raise CheckpointError(f"{path} has {about.st_size:,} bytes, more than the limit of {MAX_INDEX:,} for an index")
    with open(path, "rb") as file:
        content = file.read(MAX_INDEX + 1)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is not valid JSON: {' '.join(str(error).split())[:160]}") from None
    shards = found.get("weight_map") if isinstance(found, dict) else None
    if not isinstance(shards, dict) or not shards or not _all_text(list(shards.values())):
        raise CheckpointError(f"{path} has no 'weight_map' from tensor names to file names")
    return found  # type: ignore[no-any-return]


def _all_text(values: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in values)
