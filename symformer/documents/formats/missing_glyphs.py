r"""Characters without a glyph in a format, in names of any script, which are written as Unicode code points.

LaTeX by itself prints only Latin letters. Any other becomes ``\symformerletter{模}{6A21}``, which prints the letter in
LuaLaTeX and XeLaTeX if the document's font has it, and ``[U+6A21]`` otherwise.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from typing import Final

WIDE = len("[U+6A21]")
# Characters that LaTeX prints in every font and with every engine: accented letters, a few more letters, and signs.
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
_DOTLESS: Final = {"i": r"\i", "j": r"\j"}  # dotless forms for use with an accent
_NAMED: Final = re.compile(r"(\\symformerletter\{.\}\{[0-9A-F]+\})")
_MACRO: Final = r"""\providecommand\symformerletter[2]{% a letter and its number: the letter where the font has it
  \ifdefined\Uchar\iffontchar\font"#2 #1\else[U+#2]\fi\else[U+#2]\fi}
"""


def replace_missing_letters(spelt: str) -> str:
    r"""Return LaTeX with unsupported letters replaced by ``\symformerletter``; idempotent.

    >>> replace_missing_letters("é and 模型")
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
    r"""Return LaTeX with the definition of ``\symformerletter`` if it is used."""
    return _MACRO + spelt if r"\symformerletter{" in spelt else spelt


def _letter(character: str) -> str:
    if latin := _latin(character):
        return latin
    number = f"{ord(character):04X}"
    # right-to-left scripts and combining marks cannot be placed correctly, and LuaTeX rejects the replacement character
    placed = unicodedata.bidirectional(character) in ("R", "AL", "AN") or unicodedata.combining(character)
    return f"[U+{number}]" if placed or number == "FFFD" else rf"\symformerletter{{{character}}}{{{number}}}"


def label(id: str) -> str:
    """Return the LaTeX label of an equation: ``eq:`` and its id, with unsupported characters as code points.

    >>> label("gpt2.params.h.ln_1"), label("a.params.x%y")
    ('eq:gpt2.params.h.ln_1', 'eq:a.params.x+25y')
    """
    return "eq:" + plain_id(id)


def plain_id(id: str, kept: str = ".:_*/-", sign: str = "+") -> str:
    """Return an id in which characters not allowed in a label are replaced by a sign and their code points."""
    return "".join(
        each if each.isascii() and (each.isalnum() or each in kept) else f"{sign}{ord(each):X}" for each in id
    )


def _latin(character: str) -> str:
    """Return the LaTeX of a character; empty if plain LaTeX does not have it."""
    if character.isascii() or character in _LATIN:
        return _LATIN.get(character, character)
    parts = unicodedata.normalize("NFD", character)
    if len(parts) != 2 or not parts[0].isascii() or parts[1] not in _ACCENTS:
        return ""
    return rf"\{_ACCENTS[parts[1]]}{{{_DOTLESS.get(parts[0], parts[0])}}}"


def replace_in_typst(text: str) -> str:
    """Return text with characters that the PDF fonts lack replaced by their code points."""
    if text.isascii():
        return text
    return "".join(f"[U+{ord(each):04X}]" if _missing(each) else each for each in text)


@cache
def _missing(character: str) -> bool:
    """Return True if Typst's embedded fonts lack a character, tested by compiling PDF/UA, which rejects it."""
    if _latin(character):
        return False
    import typst

    if hasattr(typst, "lacks"):  # in the playground
        return bool(typst.lacks(character))
    line = f'#set document(title: "x")\n#{json.dumps(character, ensure_ascii=False)}'
    try:
        typst.compile(line.encode(), ignore_system_fonts=True, pdf_standards="ua-1")
    except RuntimeError:
        return True
    return False


def text_width(text: str) -> int:
    """Return the width of a text in characters, with non-Latin characters as code points.

    >>> text_width("gpt2"), text_width("é模")
    (4, 9)
    """
    return len(text) if text.isascii() else sum(1 if _latin(each) else WIDE for each in text)
