"""The header of a GGUF file, with the types and block sizes of the gguf package.

Its ``GGUFReader`` is not used: it builds objects for every token of the tokenizer, which takes seconds, and it does not
stop at a list that is longer than the file.
"""

from __future__ import annotations

import mmap
import struct
from math import prod

from ..language.errors import CheckpointError, quoted
from .checkpoint import FileTensor, Header
from .safetensors_header import INSTALL

MAX_HEADER = 256_000_000  # bytes
MAX_TENSORS, MAX_KEYS, MAX_ITEMS = 1_000_000, 100_000, 20_000_000  # items: of one list, such as the tokens
MAX_DIMS = 8
VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9  # the types of texts and lists
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def read_gguf(path: str, size: int) -> Header:
    """Return the header of a file with a size in bytes. Raises CheckpointError."""
    try:
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
    except ImportError:
        raise CheckpointError(f"reading {path} needs gguf, which is not installed: {INSTALL}") from None
    blocks = {int(each): (each.name, *GGML_QUANT_SIZES[each]) for each in GGMLQuantizationType}
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        reader = _Reader(path, content, min(size, MAX_HEADER))
        version, tensors, keys = _start(path, reader)
        if tensors > MAX_TENSORS or keys > MAX_KEYS:
            raise CheckpointError(
                f"{path} states {tensors:,} tensors and {keys:,} keys, more than the limits of {MAX_TENSORS:,} and "
                f"{MAX_KEYS:,}"
            )
        metadata: dict[str, str | int | float] = {"version": version}
        for _ in range(keys):
            name = reader.text("the name of a key")
            value = reader.value(reader.number("I"), name)
            if value is not None:
                metadata[name] = value
        stated = [_Stated.read(reader, blocks) for _ in range(tensors)]
        alignment = metadata.get("general.alignment", 32)
        if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
            raise CheckpointError(f"{path}: general.alignment is {alignment!r}; it should be a power of two")
        start = -(-reader.place // alignment) * alignment
    _check_places(path, stated, start, size, alignment)
    found = tuple(FileTensor(each.name, each.type, each.shape, each.bytes) for each in stated)
    return Header(found, start if found else min(start, size), size, metadata)


def _start(path: str, reader: _Reader) -> tuple[int, int, int]:
    """Return the version, the number of tensors and the number of keys. Raises CheckpointError."""
    if reader.take(4, "its first bytes") != b"GGUF":
        raise CheckpointError(f"{path} does not begin with GGUF, so it is not a GGUF file")
    version = reader.number("I")
    if version not in VERSIONS:
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
        said = f"is big-endian (version {swapped})" if swapped in VERSIONS else f"has format version {version}"
        raise CheckpointError(f"{path} {said}; only little-endian files of versions 2 and 3 are supported")
    return version, reader.number("Q"), reader.number("Q")


class _Reader:
    """Values at the beginning of a file. Every method raises CheckpointError at the end of the header's limit."""

    def __init__(self, path: str, content: mmap.mmap, end: int) -> None:
        self.path, self.content, self.end, self.place = path, content, end, 0

    def _advance(self, length: int, what: str) -> int:
        start = self.place
        if length > self.end - start:
            limit = (
                f"the limit of {MAX_HEADER:,} bytes for a header" if self.end == MAX_HEADER else "the end of the file"
            )
            raise CheckpointError(f"{self.path} is truncated or damaged: {what} extends past {limit}")
        self.place += length
        return start

    def take(self, length: int, what: str) -> bytes:
        """Return the next bytes."""
        start = self._advance(length, what)
        return self.content[start : self.place]

    def number(self, kind: str) -> int:
        """Return the next integer."""
        size = struct.calcsize(f"<{kind}")
        found: int = struct.unpack_from(f"<{kind}", self.content, self._advance(size, "a number of the header"))[0]
        return found

    def text(self, what: str) -> str:
        """Return the next string."""
        try:
            return self.take(self.number("Q"), what).decode("utf-8")
        except UnicodeDecodeError:
            raise CheckpointError(f"{self.path} is damaged: {what} is not UTF-8 text") from None

    def value(self, kind: int, key: str) -> str | int | float | None:
        """Return the next value; None for a list, which is skipped."""
        what = f"the value of {quoted(key)}"
        if kind in _NUMBERS:
            code = f"<{_NUMBERS[kind]}"
            start = self._advance(struct.calcsize(code), what)
            found: int | float = struct.unpack_from(code, self.content, start)[0]
            return found
        if kind == _STRING:
            return self.take(self.number("Q"), what).decode("utf-8", "replace")
        if kind != _ARRAY:
            raise CheckpointError(f"{self.path} is damaged: {what} has the unknown type {kind}")
        item, count = self.number("I"), self.number("Q")
        if count > MAX_ITEMS:
            raise CheckpointError(f"{self.path}: {what} has {count:,} items, more than the limit of {MAX_ITEMS:,}")
        if item in _NUMBERS:
            self._advance(count * struct.calcsize(f"<{_NUMBERS[item]}"), what)
        elif item == _STRING:
            for _ in range(count):
                self._advance(self.number("Q"), what)
        else:
            raise CheckpointError(f"{self.path} is damaged: {what} is a list of the unsupported type {item}")
        return None


class _Stated:
    """A tensor as the header states it."""

    def __init__(self, name: str, type_: str, shape: tuple[int, ...], size: int, place: int) -> None:
        self.name, self.type, self.shape, self.bytes, self.place = name, type_, shape, size, place

    @classmethod
    def read(cls, reader: _Reader, blocks: dict[int, tuple[str, int, int]]) -> _Stated:
        name = reader.text("the name of a tensor")
        dims = reader.number("I")
        if dims > MAX_DIMS:
            raise CheckpointError(f"{reader.path} is damaged: {quoted(name)} has {dims:,} dimensions")
        shape = tuple(reader.number("Q") for _ in range(dims))
        kind, place = reader.number("I"), reader.number("Q")
        if kind not in blocks:
            raise CheckpointError(f"{reader.path}: the gguf package does not know the type {kind} of {quoted(name)}")
        type_, block, size = blocks[kind]
        if shape and shape[0] % block:
            raise CheckpointError(
                f"{reader.path} is damaged: {quoted(name)} has rows of {shape[0]:,} elements, not a multiple of "
                f"the block size of {type_}, {block}"
            )
        # The innermost dimension comes first in the file.
        return cls(name, type_, shape[::-1], prod(shape) // block * size, place)


def _check_places(path: str, stated: list[_Stated], start: int, size: int, alignment: int) -> None:
    """Raise CheckpointError if a tensor is stored twice, is not aligned, overlaps another or exceeds the file."""
    names = set[str]()
    before, end = "", 0
    for each in sorted(stated, key=lambda each: (each.place, each.bytes)):
        if each.name in names:
            raise CheckpointError(f"{path} is damaged: it has two tensors with the name {quoted(each.name)}")
        names.add(each.name)
        if each.place % alignment:
            raise CheckpointError(
                f"{path} is damaged: {quoted(each.name)} does not begin at a multiple of {alignment} bytes"
            )
        if each.place < end:
            raise CheckpointError(f"{path} is damaged: {quoted(each.name)} overlaps {quoted(before)}")
        before, end = each.name, each.place + each.bytes
    if stated and start + end > size:
        raise CheckpointError(
            f"{path} is truncated: its tensors end at byte {start + end:,}, but the file has {size:,} bytes"
        )
