r"""LaTeX fragments: a derivation for \input into a paper, which provides the preamble and the bibliography."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...language.notation.display_tree import Tree, tree
from ...output.blocks import (
    Cited,
    Code,
    Computation,
    Document,
    Equation,
    Heading,
    Line,
    References,
    Table,
    lines,
    without_sentences,
)
from .base_language import printable
from .column import ROOM, TYPES, Fit, chunks, fill_lines, fit, latex, math_width, pieces, runs, split
from .missing_glyphs import label
from .tex import Latex, without_bracket

_BREAK = r"\allowbreak{}"
LABELS = 8  # maximum width of a label that shares a line with the first step
LONG = 15  # maximum lines of an equation that is not split across columns
NAMES = 18  # maximum characters of names in a justified paragraph


class Fragment(Latex):
    """LaTeX without a preamble. It needs amsmath and booktabs, and fits a column of a two-column article."""

    template = "fragment.tex.jinja"

    def spell(self, document: Document) -> str:
        """Return the document without figures, and without the references, which the paper provides."""
        body = [block for block in without_sentences(document.blocks) if not isinstance(block, References)]
        while body and isinstance(body[-1], Heading):  # the heading of the references
            body.pop()
        return super().spell(replace(document, blocks=body))

    def remark(self, text: str) -> str:
        """Return text for a comment."""
        return printable(text)

    def prose(self, text: str) -> str:
        words = re.split(r"(\s+)", text)
        return "".join(_BREAK.join(map(super(Fragment, self).prose, pieces(word))) for word in words)

    def code(self, text: str) -> str:
        signs = {**self._SPECIAL, **self._STRAIGHT}
        return rf"\texttt{{{_BREAK.join(self._spelt(run, signs) for run in runs(text))}}}"

    def math(self, shown: Tree) -> str:
        return latex(shown)

    def cited(self, key: str, number: int) -> str:
        return rf"\cite{{{key}}}"

    def asked(self, document: Document) -> list[str]:
        """Return the arguments of `symformer cite`: the main formulas of a document, then the papers it cites."""
        ids = [block.id for block in document.blocks if isinstance(block, Equation) and block.key]
        cited = [piece.key for line in lines(document.blocks) for piece in line if isinstance(piece, Cited)]
        return [*ids, *dict.fromkeys(cited)]

    def heading(self, heading: Heading) -> str:
        """Return an unnumbered run-in heading with a full stop."""
        return rf"\paragraph*{{{self.line(heading.line)}.}}"

    def paragraph(self, line: Line) -> str:
        """Return a paragraph, ragged right if it contains long names."""
        ragged = sum(len(piece.text) for piece in line if isinstance(piece, Code)) > NAMES
        return self.line(line) + r"{\raggedright\par}" * ragged

    def display(self, equation: Equation) -> str:
        """Return a displayed equation in the largest type in which its widest line fits."""
        rows, widest = self._rows(equation)
        type_ = next((type_ for type_, scale in TYPES.items() if widest * scale <= ROOM), [*TYPES][-1])
        star = "" if equation.number else "*"
        mark = rf"\label{{{label(equation.id)}}}" if equation.number else ""
        if len(rows) > LONG:
            row_break = r" \notag \\" if equation.number else r" \\"
            broken = f"{row_break}\n".join(rows)
            shown = f"\\begin{{align{star}}}\n{broken} {mark}\n\\end{{align{star}}}"
        else:
            inner = "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"
            inner = rf"\boxed{{{inner}}}" if equation.key and widest < ROOM else inner
            shown = f"\\begin{{equation{star}}}{mark}\n{inner}\n\\end{{equation{star}}}"
        return f"{{{type_}\n{shown}\n}}" if type_ else shown

    def computed(self, block: Computation) -> str:
        """Return the computation of a part: each line with the shape of its result below."""
        rows: list[str] = []
        widest = 0
        before = max(math_width(each.name) for each in block.lines)  # all lines are aligned after their names
        for each in block.lines:
            name = latex(each.name)
            lines = fill_lines(chunks(each.shown, ROOM - before - 3), ROOM - before - 3)
            rows += [f"& {spelt}" if place else f"{name} &= {spelt}" for place, (spelt, _) in enumerate(lines)]
            often, last = ("", 0)
            if each.times is not None:
                count = tree(each.times)
                often, last = self.ranging(latex(count)), len(", n = 1, …, ") + math_width(count)
            rows.append(rf"&\quad {latex(each.shape)}{often}")
            wide = [width for _, width in lines]
            widest = max(widest, before + 3 + max(wide), before + 7 + math_width(each.shape) + last)
        type_ = next((type_ for type_, scale in TYPES.items() if widest * scale <= ROOM), [*TYPES][-1])
        inner = "\\begin{aligned}\n" + without_bracket(" \\\\\n".join(rows)) + "\n\\end{aligned}"
        shown = f"\\begin{{equation*}}\n{inner}\n\\end{{equation*}}"
        return f"{{{type_}\n{shown}\n}}" if type_ else shown

    def _rows(self, equation: Equation) -> tuple[list[str], int]:
        """Return the lines of an equation and the width of the widest one."""
        labels: list[tuple[str, int]] = []
        for each in equation.chain.labels:
            spelt, width = latex(each), math_width(each)
            if labels and labels[-1][1] + 3 + width <= ROOM:
                labels[-1] = (f"{labels[-1][0]} = {spelt}", labels[-1][1] + 3 + width)
            else:
                labels.append((spelt, width))
        alone = len(labels) > 1 or any(width > LABELS for _, width in labels)
        before = 0 if alone or not labels else labels[0][1]
        rows = [f"& {'= ' * bool(place)}{spelt}" for place, (spelt, _) in enumerate(labels)] if alone else []
        widths = [width + 3 * bool(place) for place, (_, width) in enumerate(labels)] if alone else [0]
        for step, why in zip(
            equation.chain.steps, [*equation.reasons, *[()] * len(equation.chain.steps)], strict=False
        ):
            room = ROOM - before - 3
            lines = fill_lines(chunks(step, room), room)
            rows += [f"&= {spelt}" if not place else f"&{spelt}" for place, (spelt, _) in enumerate(lines)]
            widths += [before + 3 + width for _, width in lines]
            if why:
                rows.append(rf"&\quad \parbox{{.8\linewidth}}{{\raggedright\footnotesize {self.line(why)}}}")
        if labels and not alone:
            rows[0] = f"{labels[0][0]} {rows[0]}"
        return rows, max(widths)

    def table(self, table: Table) -> str:
        """Return a table no wider than the column, split into several if it is long."""
        found = fit(table)
        if found is None:
            return self._listed(table)
        return "\n".join(self._tabular(each, found) for each in split(table, found))

    def _tabular(self, table: Table, found: Fit) -> str:
        kinds = zip(table.align.replace("w", "l"), found.shares, strict=True)
        columns = "".join(rf"p{{{share:.3f}\linewidth}}" if share else kind for kind, share in kinds)
        body = [self._row(row, found) for row in table.rows]
        if table.total:
            body.insert(len(body) - 1, r"\midrule")
        head = [rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule", self._row(table.head, found), r"\midrule"]
        end = [r"\bottomrule", r"\end{tabular}\par\medskip}"]
        return "\n".join([rf"{{\medskip\centering{found.type}\setlength{{\tabcolsep}}{{2.5pt}}%", *head, *body, *end])

    def _row(self, row: Sequence[Line], found: Fit) -> str:
        cells = zip(map(self.line, row), found.shares, strict=True)
        return " & ".join(rf"\raggedright {cell}" if share else cell for cell, share in cells) + r" \tabularnewline"

    def _listed(self, table: Table) -> str:
        """Return a table that is too wide for any type as paragraphs, one per row, with the column headers."""
        head = [self.line(cell) for cell in table.head]
        rows = []
        for first, *others in table.rows:
            cells = [f"{name}: {self.line(cell)}" for name, cell in zip(head[1:], others, strict=True) if cell]
            rows.append(rf"\noindent {self.line(first)}. " + "; ".join(cells) + r"\par")
        return "\n".join([r"{\smallskip\footnotesize\raggedright", *rows, "}"])


FORMAT = Fragment()
