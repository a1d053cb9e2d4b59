"""Markdown in three flavours that differ in the mathematics: GitHub, Jupyter, and CommonMark without mathematics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...language.notation.display_tree import Tree, tree
from ...language.notation.latex import latex
from ...language.notation.text import text
from ...output.blocks import Computation, Document, Equation, Table, plain, without_sentences
from .base_language import Language, printable
from .missing_glyphs import plain_id


class Markdown(Language):
    """Markdown for GitHub."""

    template = "derivation.md.jinja"
    quad = r"\quad"
    row_break = r" \\"
    of_blocks = {"equation": ("equation", "display"), "computation": ("computation", "display")}
    of_texts = (*Language.of_texts, "anchor")
    around = "$`", "`$"  # delimiters of inline mathematics
    fences = "```math", "```"  # delimiters of displayed mathematics
    longest: int | None = 980  # characters of a block: GitLab displays at most 1,000, with the number of the equation

    def prepared(self, document: Document) -> Document:
        """Return a document without sentences about figures, which Markdown does not have."""
        tables = {block.id for block in document.blocks if isinstance(block, Table) and block.id}
        return replace(document, blocks=[*without_sentences(document.blocks, tables)])

    def prose(self, text: str) -> str:
        return re.sub(r"([\\`*_<>|\[\]$])", r"\\\1", text)

    def code(self, text: str) -> str:
        # Backticks inside need a longer run of backticks outside; a bar would end a table cell.
        fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
        return f"{fence}{text}{fence}".replace("|", r"\|")

    def anchor(self, id: str) -> str:
        """Return the anchor of a section."""
        return plain_id(id)

    def strong(self, spelt: str) -> str:
        return f"**{spelt}**"

    def math(self, shown: Tree) -> str:
        return latex(shown)

    def inline(self, mathematics: str, shown: Tree) -> str:
        opens, closes = self.around
        return f"{opens}{mathematics}{closes}"

    def display(self, block: Equation | Computation) -> str:
        """Return displayed mathematics, with the number of an equation at its end.

        Mathematics that is too long for one block continues in the next.
        """
        spelt = self.computation(block) if isinstance(block, Computation) else self.equation(block)
        tag = rf" \tag{{{block.number}}}" if isinstance(block, Equation) and block.number else ""
        return self.aligned(spelt.split(f"{self.row_break}\n"), tag)

    def aligned(self, rows: Sequence[str], tag: str = "") -> str:
        """Return rows as aligned mathematics, in several blocks if one would be too long."""
        blocks: list[list[str]] = [[]]
        for row in rows:
            together = [*blocks[-1], row]
            if blocks[-1] and self.longest and len(self._environment(together)) > self.longest:
                blocks.append([row])
            else:
                blocks[-1] = together
        *before, last = map(self._environment, blocks)
        opens, closes = self.fences
        return "\n\n".join(f"{opens}\n{each}\n{closes}" for each in (*before, f"{last}{tag}"))

    def _environment(self, rows: Sequence[str]) -> str:
        inside = f"{self.row_break}\n".join(rows)
        return f"\\begin{{aligned}}\n{inside}\n\\end{{aligned}}"

    def carry_on(self, sign: str, spelt: str) -> str:
        return rf"&\quad {sign} {spelt}"

    def ranging(self, last: str) -> str:
        return rf",\; n = 1, \dots, {last}"

    def because(self, spelt: str, below: bool = False) -> str:
        # inside mathematics, prose is \text, and the mathematics in it is taken out of \text
        opens, closes = map(re.escape, self.around)
        words = re.sub(rf"(?<!\\){opens}(.*?){closes}", lambda found: "}" + found[1] + r"\text{", spelt)
        return rf"&\quad \text{{{words}}}" if below else rf"&& \text{{{words}}}"

    def cited(self, key: str, number: int) -> str:
        return rf"[\[{number}\]](#{key})"

    def ref(self, id: str, number: int) -> str:
        return f"({number})"

    def figure_ref(self, id: str, number: int) -> str:
        return f"Figure {number}"

    def table_ref(self, id: str, number: int) -> str:
        return f"Table {number}"

    def equation_number(self, id: str, number: int) -> str:
        return f'<a id="{self.anchor(id)}"></a>({number})'

    def columns(self, align: str) -> str:
        return "|".join({"r": "---:", "c": ":---:"}.get(column, "---") for column in align)


class Jupyter(Markdown):
    """Markdown for Jupyter, Quarto and Pandoc."""

    around = "$", "$"
    fences = "$$", "$$"
    longest = None


class CommonMark(Markdown):
    """Markdown without mathematics: formulas are Unicode text in code spans and blocks."""

    def math(self, shown: Tree) -> str:
        return printable(text(shown))

    def inline(self, mathematics: str, shown: Tree) -> str:
        return self.code(mathematics)

    def display(self, block: Equation | Computation) -> str:
        """Return the rows, aligned at their equals signs."""
        return self._fenced(self._computed(block) if isinstance(block, Computation) else self._rows(block))

    def _computed(self, block: Computation) -> list[str]:
        names = [self.math(each.name) for each in block.lines]
        widest = max(map(len, names))
        rows = []
        for name, each in zip(names, block.lines, strict=True):
            often = f", n = 1, …, {self.math(tree(each.times))}" if each.times is not None else ""
            rows.append(f"{name:>{widest}} = {self.math(each.shown)}    {self.math(each.shape)}{often}")
        return rows

    def _rows(self, equation: Equation) -> list[str]:
        labels = " = ".join(self.math(label) for label in equation.chain.labels)
        rows: list[str] = []
        for row in self.page.rows(equation):
            because = f"    {plain(row.reason)}" if row.reason else ""
            before = labels if not rows else " " * len(labels)
            rows.append(f"{before} {'' if row.sign == '=' else '  '}{row.sign} {self.math(row.shown)}{because}")
        if equation.number:
            rows[-1] += f"    ({equation.number})"
        return rows

    @staticmethod
    def _fenced(rows: list[str]) -> str:
        fence = "`" * max(3, 1 + max(len(run) for run in re.findall("`*", "".join(rows))))
        return "\n".join([fence, *(printable(row.rstrip()) for row in rows), fence])


FORMAT = Markdown()
FLAVOURS = {"github": FORMAT, "jupyter": Jupyter(), "commonmark": CommonMark()}
