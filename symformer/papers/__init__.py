"""The papers that formulas are based on: one entry each in papers.json, printed as a reference or as BibTeX."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ..language.errors import UnknownNameError, joined

_CITED = re.compile(r"\[([a-z]+(?:19|20)\d\d[a-z]?)\]")
_LATEX = {
    "ł": r"{\l}",
    "Ł": r"{\L}",
    "á": r"{\'a}",
    "é": r"{\'e}",
    "É": r"{\'E}",
    "î": r"{\^i}",
    "ó": r"{\'o}",
    "ü": r"{\"u}",
    "&": r"\&",
    "%": r"\%",
    "_": r"\_",
    "#": r"\#",
}


@dataclass(frozen=True)
class Paper:
    """A paper and its bibliographic data."""

    key: str
    type: str  # BibTeX's entry type
    authors: tuple[str, ...]  # "others" at the end of a shortened list; names of organisations in braces
    title: str
    year: int
    venue: str = ""
    volume: str = ""
    number: str = ""
    pages: str = ""
    arxiv: str = ""

    @property
    def byline(self) -> str:
        """Return the authors for a reference: up to three names, else the first and "et al.", with a full stop."""
        names = [name.strip("{}") for name in self.authors]
        if "others" in names or len(names) > 3:
            return f"{names[0]} et al."
        return f"{joined(names)}."

    @property
    def short(self) -> str:
        """Return the authors and the year for a sentence: one or two last names, else the first and "et al."."""
        names = [name.strip("{}") if name.startswith("{") else name.rpartition(" ")[2] for name in self.authors]
        return f"{' and '.join(names) if len(names) < 3 else f'{names[0]} et al.'} {self.year}"

    @property
    def place(self) -> str:
        """Return the venue and the year; the year is omitted if the venue contains it."""
        volume = f" {self.volume}" + (f"({self.number})" if self.number else "") if self.volume else ""
        pages = f":{self.pages}" if self.pages and volume else ""
        year = "" if str(self.year) in self.venue else str(self.year)
        where = ", ".join(filter(None, (f"{self.venue}{volume}{pages}", year)))
        return f"{where}. arXiv:{self.arxiv}" if self.arxiv else where

    def bibtex(self) -> str:
        """Return the BibTeX entry, in ASCII for older versions of BibTeX."""
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
            "url": f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else "",
        }
        body = ",\n".join(f"  {name} = {{{escape(value)}}}" for name, value in lines.items() if value)
        return f"@{self.type}{{{self.key},\n{body}\n}}"


def cited_papers(sentences: Iterable[str]) -> list[str]:
    """Return the keys of the papers that sentences cite, in order and without duplicates.

    >>> cited_papers(["Ba et al. 2016 [ba2016], eq. 4", "[B, S]; Shazeer 2020 [shazeer2020]", "again [ba2016]"])
    ['ba2016', 'shazeer2020']
    """
    return list(dict.fromkeys(key for sentence in sentences for key in _CITED.findall(sentence)))


def split_at_keys(sentence: str) -> list[str]:
    """Return a sentence split at its keys: text and keys alternate, starting and ending with text.

    >>> split_at_keys("Ba et al. 2016 [ba2016], eq. 4")
    ['Ba et al. 2016 ', 'ba2016', ', eq. 4']
    """
    return _CITED.split(sentence)


def escape(text: str) -> str:
    """Return a text escaped for a BibTeX field."""
    return "".join(_LATEX.get(character, character) for character in text)


@cache
def papers() -> dict[str, Paper]:
    """Return all papers by their keys."""
    loaded: dict[str, dict[str, Any]] = json.loads((files(__name__) / "papers.json").read_text("utf-8"))
    return {key: Paper(key=key, **{**facts, "authors": tuple(facts["authors"])}) for key, facts in loaded.items()}


def paper(key: str) -> Paper:
    """Return the paper with a key. Raises UnknownNameError."""
    try:
        return papers()[key]
    except KeyError:
        raise UnknownNameError("paper", key, papers()) from None
