"""The contents of a checkpoint, as the headers of its files state them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod


@dataclass(frozen=True)
class FileTensor:
    """A stored tensor: its name, its type and its shape as the file states them, and its bytes."""

    name: str
    type: str  # as in the file, such as BF16 or Q4_K
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """The number of elements."""
        return prod(self.shape)


@dataclass(frozen=True)
class Header:
    """The header of one file."""

    tensors: tuple[FileTensor, ...]
    header_bytes: int  # all bytes before the first tensor
    file_bytes: int
    metadata: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class Checkpoint:
    """The tensors of one or more files."""

    path: str
    format: str  # "safetensors" or "GGUF"
    files: Mapping[str, Header]  # by their names
    total_size: int | None = None  # the size of all tensors that the index states

    @property
    def tensors(self) -> tuple[FileTensor, ...]:
        """All tensors, in the order of the files."""
        return tuple(tensor for header in self.files.values() for tensor in header.tensors)

    @property
    def tensor_bytes(self) -> int:
        """The bytes of all tensors."""
        return sum(tensor.bytes for tensor in self.tensors)

    @property
    def header_bytes(self) -> int:
        """The bytes of all headers."""
        return sum(header.header_bytes for header in self.files.values())

    @property
    def file_bytes(self) -> int:
        """The bytes of all files."""
        return sum(header.file_bytes for header in self.files.values())

    @property
    def metadata(self) -> Mapping[str, str | int | float]:
        """The numbers and texts in the header of the first file, without lists such as the tokenizer's."""
        return next(iter(self.files.values())).metadata
