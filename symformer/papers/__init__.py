"""The papers that formulas rest on: one entry each in papers.json, printed as a reference or as BibTeX."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import UnknownNameError

_LATEX = {"ł": r"{\l}", "Ł": r"{\L}", "é": r"{\'e}", "ó": r"{\'o}", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#"}


@dataclass(frozen=True)
class Paper:
    """One paper."""

    key: str
    type: str  # BibTeX's entry type
    authors: tuple[str, ...]  # "others" last for a longer list
    title: str
    year: int
    venue: str = ""
    volume: str = ""
    number: str = ""
    pages: str = ""
    arxiv: str = ""

    @property
    def byline(self) -> str:
        """The authors, as a reference names them: up to three, else the first and "et al."; with its full stop."""
        if "others" in self.authors or len(self.authors) > 3:
            return f"{self.authors[0]} et al."
        return " and ".join(filter(None, (", ".join(self.authors[:-1]), self.authors[-1]))) + "."

    @property
    def place(self) -> str:
        """Where and when it appeared."""
        volume = f" {self.volume}" + (f"({self.number})" if self.number else "") if self.volume else ""
        pages = f":{self.pages}" if self.pages and volume else ""
        where = f"{self.venue}{volume}{pages}, {self.year}" if self.venue else str(self.year)
        return f"{where}. arXiv:{self.arxiv}" if self.arxiv else where

    def bibtex(self) -> str:
        """The BibTeX entry, in plain ASCII as old BibTeX needs it."""
        venue = {"inproceedings": "booktitle", "article": "journal", "techreport": "institution", "book": "publisher"}
        lines = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",
            venue.get(self.type, "howpublished"): self.venue,
            "volume": self.volume,
            "number": self.number,
            "pages": self.pages.replace("-", "--"),
            "year": str(self.year),
            "eprint": self.arxiv,
            "archiveprefix": "arXiv" if self.arxiv else "",
        }
        body = ",\n".join(f"  {name} = {{{escape(value)}}}" for name, value in lines.items() if value)
        return f"@{self.type}{{{self.key},\n{body}\n}}"


def escape(text: str) -> str:
    """Text for a BibTeX field."""
    return "".join(_LATEX.get(character, character) for character in text)


@cache
def papers() -> dict[str, Paper]:
    """Every paper by its key."""
    loaded: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "papers.json").read_text("utf-8"))
    return {key: Paper(key=key, **{**facts, "authors": tuple(facts["authors"])}) for key, facts in loaded.items()}


def paper(key: str) -> Paper:
    """The paper of that key; raises UnknownNameError."""
    try:
        return papers()[key]
    except KeyError:
        raise UnknownNameError("paper", key, papers()) from None
