"""Write templates/fonts/symformer-math.woff2 and .json: ``python .ci/mathfont.py STIXMath-Regular.otf``.

Needs fonttools, brotli, and STIX Math 1.1.1, which is in Debian's fonts-stix. The subset has the characters of
formulas, the larger forms of each sign, and the MATH table, which browsers need to typeset mathematics. The license
reserves the font's name, so the modified font has another name. The .json lists the characters of each width, which
figures need for their layout without a browser.
"""

from __future__ import annotations

import json
import string
import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

NAME = "Symformer Math"
GREEK = range(0x1D6FC, 0x1D714)  # alpha to omega, in italics
ITALIC = {0x210E, *range(0x1D434, 0x1D468)} - {0x1D455}  # A to Z and a to z; h is Planck's
SIGNS = "−×·⋅÷±=≠≈≡≤≥<>()[]{}⌈⌉⌊⌋⟨⟩|‖/√∑∏∈∞→←↔↦⇒∘⊙⊕⊗∗⊤⊥∥…⋯⋮′ℝℕℤ∂∇°²³¹⁰⁴⁵⁶⁷⁸⁹«»–—’“”éöü"
INVISIBLE = "\u00a0\u2061\u2062\u2063\u2064\u2009\u200a\u2003\u200b"
TARGET = Path(__file__).parent.parent / "templates" / "fonts" / "symformer-math.woff2"


def advances(font: TTFont) -> dict[str, str]:
    """Return the characters of each advance width, in thousandths of the font size."""
    found: dict[int, str] = {}
    for code, glyph in sorted(font.getBestCmap().items()):
        wide = font["hmtx"][glyph][0]
        found[wide] = found.get(wide, "") + chr(code)
    return {str(wide): characters for wide, characters in sorted(found.items())}


def main(source: str) -> None:
    options = Options(
        layout_features=[],
        drop_tables=["FFTM"],
        hinting=False,
        desubroutinize=True,
        name_IDs=["*"],
        notdef_outline=True,
    )
    font = TTFont(source, recalcTimestamp=False)
    subsetter = Subsetter(options)
    kept = {ord(character) for character in string.printable if character.isprintable()}
    subsetter.populate(unicodes=kept | ITALIC | set(GREEK) | {ord(character) for character in SIGNS + INVISIBLE})
    subsetter.subset(font)
    for record in list(font["name"].names):
        if record.nameID not in (0, 13, 14):  # the copyright and the license
            font["name"].removeNames(nameID=record.nameID)
    names = {1: NAME, 2: "Regular", 3: f"{NAME} of {Path(source).stem}", 4: NAME, 6: NAME.replace(" ", "")}
    for number, said in names.items():
        font["name"].setName(said, number, 3, 1, 0x409)
    inside = font["CFF "].cff
    inside.fontNames = [NAME.replace(" ", "")]
    inside.topDictIndex[0].FullName = inside.topDictIndex[0].FamilyName = NAME
    # so that the tallest brace of the font does not increase the line height
    font["hhea"].ascent, font["hhea"].descent, font["hhea"].lineGap = 900, -300, 0
    font["OS/2"].usWinAscent, font["OS/2"].usWinDescent = 900, 300
    font.flavor = "woff2"
    font.save(TARGET)
    TARGET.with_suffix(".json").write_text(json.dumps(advances(font), ensure_ascii=False, indent=0) + "\n", "utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes, {len(font.getGlyphOrder())} glyphs")


if __name__ == "__main__":
    main(*sys.argv[1:])
