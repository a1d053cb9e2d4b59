r"""Letters that a format has no glyph for, in names that may be of any script: shown by their numbers in Unicode.

LaTeX by itself prints Latin letters alone. Any other is ``\symformerletter{模}{6A21}``, which prints the letter under
LuaLaTeX and XeLaTeX where the document's font has it, and ``[U+6A21]`` wherever else.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from typing import Final

WIDE = len("[U+6A21]")
# What LaTeX prints in every font and under every engine: letters with an accent, a few more, and signs.
_ACCENTS: Final = dict(
    zip("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327", "`'^~=u.\"rHvc", strict=True)
)
_LATIN: Final = {
    **{"ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}"},
    **{"ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}", "§": r"\S{}", "¶": r"\P{}", "©": r"\copyright{}", "…": r"\ldots{}"},
    **{"–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''"},
    **{"×": r"$\times$", "·": r"$\cdot$", "÷": r"$\div$", "±": r"$\pm$", "µ": r"$\mu$", "σ": r"$\sigma$"},
    **{"≈": r"$\approx$", "≠": r"$\neq$", "≥": r"$\geq$", "°": r"$^\circ$", "¹": "$^1$", "²": "$^2$", "³": "$^3$"},
}
_DOTLESS: Final = {"i": r"\i", "j": r"\j"}  # as they are below an accent
_NAMED: Final = re.compile(r"(\\symformerletter\{.\}\{[0-9A-F]+\})")
_MACRO: Final = r"""\providecommand\symformerletter[2]{% a letter and its number: the letter where the font has it
  \ifdefined\Uchar\iffontchar\font"#2 #1\else[U+#2]\fi\else[U+#2]\fi}
"""


def lettered(spelt: str) -> str:
    r"""LaTeX in which letters that it may not have are told by their numbers; the second time it changes nothing.

    >>> lettered("é and 模型")
    "\\'{e} and \\symformerletter{模}{6A21}\\allowbreak{}\\symformerletter{型}{578B}"
    """
    if spelt.isascii():
        return spelt
    spelt = unicodedata.normalize("NFC", spelt)
    told = [each if _NAMED.fullmatch(each) else "".join(map(_letter, each)) for each in _NAMED.split(spelt)]
    return re.sub(
        r"(\]|\\symformerletter\{.\}\{[0-9A-F]+\})(?=\[U\+|\\symformerletter)", r"\1\\allowbreak{}", "".join(told)
    )


def with_macro(spelt: str) -> str:
    """LaTeX that knows what it tells letters by."""
    return _MACRO + spelt if r"\symformerletter{" in spelt else spelt


def _letter(character: str) -> str:
    if latin := _latin(character):
        return latin
    number = f"{ord(character):04X}"
    # of a script that is set from right to left, or a mark above another letter: nothing here would place them; and
    # what stands for no letter LuaTeX takes for a fault
    placed = unicodedata.bidirectional(character) in ("R", "AL", "AN") or unicodedata.combining(character)
    return f"[U+{number}]" if placed or number == "FFFD" else rf"\symformerletter{{{character}}}{{{number}}}"


def label(id: str) -> str:
    """What an equation is referred to by in LaTeX: ``eq:`` and its id, what no label takes spelt by number.

    >>> label("gpt2.params.h.ln_1"), label("a.params.x%y")
    ('eq:gpt2.params.h.ln_1', 'eq:a.params.x+25y')
    """
    return "eq:" + plain(id)


def plain(id: str, kept: str = ".:_*/-", sign: str = "+") -> str:
    """An id in characters that a label may have, the others by their numbers behind a sign."""
    return "".join(
        each if each.isascii() and (each.isalnum() or each in kept) else f"{sign}{ord(each):X}" for each in id
    )


def _latin(character: str) -> str:
    """How LaTeX spells a character by itself; empty for one that it has not."""
    if character.isascii() or character in _LATIN:
        return _LATIN.get(character, character)
    parts = unicodedata.normalize("NFD", character)
    if len(parts) != 2 or not parts[0].isascii() or parts[1] not in _ACCENTS:
        return ""
    return rf"\{_ACCENTS[parts[1]]}{{{_DOTLESS.get(parts[0], parts[0])}}}"


def in_typst(text: str) -> str:
    """Text in which what the fonts of PDFs have no glyph for is told by its number."""
    if text.isascii():
        return text
    return "".join(f"[U+{ord(each):04X}]" if _missing(each) else each for each in text)


@cache
def _missing(character: str) -> bool:
    """Whether Typst's own fonts lack a character, by its own word: PDF/UA refuses those."""
    if _latin(character):
        return False
    import typst

    line = f'#set document(title: "x")\n#{json.dumps(character, ensure_ascii=False)}'
    try:
        typst.compile(line.encode(), ignore_system_fonts=True, pdf_standards="ua-1")
    except RuntimeError:
        return True
    return False


def wide(text: str) -> int:
    """How many characters a text takes, where those beyond Latin may be told by their numbers.

    >>> wide("gpt2"), wide("é模")
    (4, 9)
    """
    return len(text) if text.isascii() else sum(1 if _latin(each) else WIDE for each in text)
