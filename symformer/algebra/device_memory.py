"""The memory of a device: read from text, and printed."""

from __future__ import annotations

from ..language.errors import OptionError
from ..language.notation.text import rounded
from .search_goal import whole_amount


def memory_bytes(memory: int | float | str) -> int:
    """Return the memory of a device in bytes. Raises OptionError."""
    try:
        return whole_amount(memory, "bytes")
    except OptionError:
        raise OptionError(
            f"memory={memory} is not supported; give the bytes of one device, such as 80GiB or 24GB"
        ) from None


def bytes_text(number: int) -> str:
    """Return bytes in GB and GiB."""
    return rounded(number, "bytes") or f"{number:,} bytes"
