"""The notations in which an equation can be printed."""

from __future__ import annotations

from typing import Final

# For each notation: its module under language/notation/, its function, and the text before and after.
NOTATIONS: Final = {
    "latex": ("latex", "latex", "", ""),
    "typst": ("typst", "typst", "", ""),
    "mathml": ("mathml", "equated", "", ""),
    "markdown": ("latex", "latex", "$$", "$$"),
    "text": ("text", "text", "", ""),
    "code": ("text", "code", "", ""),
}
