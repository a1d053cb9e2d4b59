"""A live page: HTML in which the sizes can be changed; it loads nothing either, and can be read without scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from markupsafe import Markup

from .html import HTML, markup
from .language import templates

# JSON within a script element: nothing in it ends the element, or begins a comment there.
_WITHIN = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


class Live(HTML):
    """A page with what its script reckons with: a sheet of formulas, sizes and conditions."""

    template = "live.html.jinja"

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.told = told

    @cached_property
    def sheet(self) -> Markup:
        """The data, which are read and never run."""
        return markup(json.dumps(self.told, ensure_ascii=False, separators=(",", ":")).translate(_WITHIN))

    @cached_property
    def style(self) -> Markup:
        """That of every page, and of the fields."""
        return markup(str(super().style) + (templates() / "live.css").read_text("utf-8"))

    @property
    def scripts(self) -> Sequence[Markup]:
        """What copies, what reckons, and what shows it, one after the other."""
        return (
            self.script,
            *(markup((templates() / name).read_text("utf-8")) for name in ("live-exact.js", "live.js")),
        )
