"""The notations that one equation can be asked for in."""

from __future__ import annotations

from typing import Final

# The module under language/notation/ that spells each, its function, and what stands before and after.
NOTATIONS: Final = {
    "latex": ("latex", "latex", "", ""),
    "typst": ("typst", "typst", "", ""),
    "mathml": ("mathml", "equated", "", ""),
    "markdown": ("latex", "latex", "$$", "$$"),
    "text": ("text", "text", "", ""),
    "code": ("text", "code", "", ""),
}
