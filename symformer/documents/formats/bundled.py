"""LaTeX with an embedded bibliography, which compiles without BibTeX."""

from __future__ import annotations

from dataclasses import replace

from ...output.blocks import Document, Heading, References
from .tex import Latex

_END = r"\end{document}"


class Bundled(Latex):
    """LaTeX with its references in a ``thebibliography`` environment."""

    def spell(self, document: Document) -> str:
        """Return the document followed by its references as ``thebibliography``."""
        blocks = list(document.blocks)
        found = [block for block in blocks if isinstance(block, References)]
        body = [block for block in blocks if not isinstance(block, References)]
        if found and body and isinstance(body[-1], Heading):  # the heading of the references
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
