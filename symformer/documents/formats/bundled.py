"""LaTeX that carries its bibliography, so that nothing but LaTeX itself has to run over it."""

from __future__ import annotations

from dataclasses import replace

from ..blocks import Document, Heading, References
from .tex import Latex

_END = r"\end{document}"


class Bundled(Latex):
    """LaTeX with its papers in a bibliography of LaTeX's own."""

    def spell(self, document: Document) -> str:
        """The document, and behind it the papers as ``thebibliography``."""
        blocks = list(document.blocks)
        found = [block for block in blocks if isinstance(block, References)]
        body = [block for block in blocks if not isinstance(block, References)]
        if found and body and isinstance(body[-1], Heading):  # that of the references
            body.pop()
        spelt = super().spell(replace(document, blocks=body))
        entries = [entry for block in found for entry in block.entries]
        if not entries:
            return spelt
        items = [
            rf"\bibitem{{{key}}} {self.prose(byline)} \emph{{{self.prose(title)}}}. {self.prose(place)}."
            for key, byline, title, place in entries
        ]
        before, end, after = spelt.rpartition(_END)
        listed = "\n".join([rf"\begin{{thebibliography}}{{{len(items)}}}", *items, r"\end{thebibliography}"])
        return f"{before}{listed}\n{end}{after}"

    def cited(self, key: str, number: int) -> str:
        return rf"\cite{{{key}}}"


FORMAT = Bundled()
