"""A live page: HTML with editable sizes, which loads no other files and can be read without scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from markupsafe import Markup

from ...output.blocks import Document, Heading
from .base_language import templates
from .compact_script import compact
from .html import HTML, markup
from .short_mathml import with_short_math

# Escapes for JSON in a script element, so that it cannot end the element or start a comment.
_WITHIN = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
_BLANKS = re.compile(
    r"\s*/\*.*?\*/|\s*\n\s*|(?<=[{;:,]) | (?=\{)|;? (?=\})"
)  # no string in the style sheets has these signs
# Each script uses those before it.
SCRIPTS = ("live-entry.js", "live-exact.js", "live-math.js", "live-curves.js", "live-links.js", "live.js")


def _without_blanks(style: str) -> str:
    """Return a style sheet without comments and line ends, and without the blanks at signs that separate.

    >>> _without_blanks("p { margin: 0; }\\n.a,\\n.b { color: red; }")
    'p{margin:0}.a,.b{color:red}'
    """
    return _BLANKS.sub("", style)


class Live(HTML):
    """A page with the data for its script: formulas, sizes and conditions."""

    template = "live.html.jinja"
    marked = True

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.told = told

    def contents(self, document: Document) -> list[tuple[Heading, list[Heading]]]:
        """Return nothing: the page lists its ``chapters`` itself, after its interactive part."""
        return []

    def chapters(self, document: Document) -> list[Heading]:
        """Return the headings that the contents list."""
        return [block for block in document.blocks if isinstance(block, Heading) and block.level == 1]

    def completed(self, spelt: str) -> str:
        """Return a page with shorter mathematics: without attributes that the style sheet or MathML implies."""
        return with_short_math(super().completed(spelt))

    @cached_property
    def sheet(self) -> Markup:
        """The data, which are parsed and never executed."""
        return markup(json.dumps(self.told, ensure_ascii=False, separators=(",", ":")).translate(_WITHIN))

    @cached_property
    def style(self) -> Markup:
        """The style of every page and of the input fields."""
        return markup(_without_blanks(str(super().style) + (templates() / "live.css").read_text("utf-8")))

    @property
    def scripts(self) -> Sequence[Markup]:
        """The script for copying and the scripts of ``SCRIPTS``, in this order."""
        return (
            self.script,
            *(markup(compact((templates() / name).read_text("utf-8"))) for name in SCRIPTS),
        )
