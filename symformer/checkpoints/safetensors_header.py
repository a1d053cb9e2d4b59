"""The header of a safetensors file, read by the safetensors package."""

from __future__ import annotations

import struct
from math import prod

from ..language.errors import CheckpointError
from .checkpoint import FileTensor, Header

MAX_HEADER = 50_000_000  # bytes: about 500,000 names; the safetensors package reads 100 MB
LENGTH = 8  # bytes of the number that states the length of the header
BITS = {
    **{"BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64},
    **{"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E8M0": 8, "F8_E4M3": 8, "F8_E5M2": 8},
    **{"F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64},
}


def read_safetensors(path: str, size: int) -> Header:
    """Return the header of a file with a size in bytes. Raises CheckpointError."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise CheckpointError(f"reading {path} needs safetensors, which is not installed: {INSTALL}") from None
    length = _length(path, size)
    try:
        with safe_open(path, framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
            found = [(name, str(each.get_dtype()), tuple(each.get_shape())) for name, each in slices.items()]
            metadata = dict(file.metadata() or {})
    except ImportError:
        raise CheckpointError(f"reading {path} needs numpy, which is not installed: {INSTALL}") from None
    except (SafetensorError, ValueError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error while deserializing header: ")[:300]
        raise CheckpointError(f"{path} is not a valid safetensors file: {reason}") from None
    tensors = tuple(_tensor(path, *each) for each in sorted(found))
    return Header(tensors, LENGTH + length, size, metadata)


def _length(path: str, size: int) -> int:
    """Return the length of the header. Raises CheckpointError if it is too long for the file or for the package."""
    with open(path, "rb") as file:
        start = file.read(LENGTH)
    if len(start) < LENGTH:
        raise CheckpointError(f"{path} has {size:,} bytes and no header, so it is not a safetensors file")
    (length,) = struct.unpack("<Q", start)
    if length > MAX_HEADER:
        raise CheckpointError(f"{path} states a header of {length:,} bytes, more than the limit of {MAX_HEADER:,}")
    if length > size - LENGTH:
        raise CheckpointError(
            f"{path} states a header of {length:,} bytes, but the file has {size:,} bytes; it is truncated or not a "
            "safetensors file"
        )
    return int(length)


def _tensor(path: str, name: str, type_: str, shape: tuple[int, ...]) -> FileTensor:
    if type_ not in BITS:
        raise CheckpointError(f"{path}: the type {type_} of {name} is not supported")
    return FileTensor(name, type_, shape, prod(shape) * BITS[type_] // 8)


INSTALL = "pip install safetensors gguf"
