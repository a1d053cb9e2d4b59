"""Markdown as GitHub reads it."""

from __future__ import annotations

import re

from ...language.notation.latex import latex
from ...language.notation.tree import Tree
from .language import Language


class Markdown(Language):
    """Markdown as GitHub reads it."""

    template = "derivation.md.jinja"
    quad = r"\quad"
    row_break = r" \\"

    def prose(self, text: str) -> str:
        return re.sub(r"([\\`*_<>|\[\]$])", r"\\\1", text)

    def code(self, text: str) -> str:
        # A run of backticks inside asks for a longer one outside; a bar would end a table's cell.
        fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
        return f"{fence}{text}{fence}".replace("|", r"\|")

    def strong(self, spelt: str) -> str:
        return f"**{spelt}**"

    def math(self, shown: Tree) -> str:
        return latex(shown)

    def inline(self, mathematics: str, shown: Tree) -> str:
        return f"$`{mathematics}`$"

    def carry_on(self, sign: str, spelt: str) -> str:
        return rf"&\quad {sign} {spelt}"

    def ranging(self, last: str) -> str:
        return rf",\; n = 1, \dots, {last}"

    def because(self, spelt: str, below: bool = False) -> str:
        # inside mathematics a line of prose is text, with the mathematics in it as such again
        words = re.sub(r"\$`(.*?)`\$", lambda found: "}" + found[1] + r"\text{", spelt)
        return rf"&\quad \text{{{words}}}" if below else rf"&& \text{{{words}}}"

    def cited(self, key: str, number: int) -> str:
        return rf"[\[{number}\]](#{key})"

    def ref(self, id: str, number: int) -> str:
        return f"({number})"

    def columns(self, align: str) -> str:
        return "|".join({"r": "---:", "c": ":---:"}.get(column, "---") for column in align)


FORMAT = Markdown()
