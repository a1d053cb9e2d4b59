"""The reference pages of the site: the pages of ``reports/`` that are not about one model, converted from Markdown.

A long page is an index and a page for each of its sections.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from markupsafe import escape

from ..architectures import names
from ..documents.census_page import overview
from ..documents.formats.html import markup
from ..documents.gallery_pages import CENSUS
from ..documents.pages import anchor
from ..documents.reference_pages import alphabet, corrections, counted, published_formulas, published_numbers
from ..language.errors import SiteError
from ..language.target import HF
from .atlas_target import AtlasTarget, atlas_targets
from .site_file import SiteFile, SiteOptions
from .site_page import Metadata, site_page

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

FOLDER = "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "published": published_formulas,
    "published-numbers": published_numbers,
    "corrections": corrections,
    "counted": counted,
    "alphabet": alphabet,
}
DIVIDED = ("published", "published-numbers", "corrections")  # the long pages
_INLINE = re.compile(r"\$`(.+?)`\$")
_DISPLAY = re.compile(r"^```math\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
_PLACE = re.compile("\ue000([0-9]+)\ue001")  # where a formula goes; no page has these private characters
_LINK = re.compile(r'<a href="([^":#]*)(#[^"]*)?">(.*?)</a>')
_SECTION = re.compile(r'<h2 id="([^"]*)">(.*?) <a')
_ANCHORED = re.compile(r'href="#([^"]*)"')
_HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>")
_ENTITY = re.compile("&#x([0-9A-F]+);")
_ROW = re.compile(r"<mrow>(<(m[ino])>[^<]*</\2>)</mrow>")
_THOUSANDS = re.compile(r"(<mn>[0-9,]+)</mn><mo>,</mo><mn>([0-9]{3})(?![0-9])")
_ALIGNED = re.compile(r"\\begin\{aligned\}(.*)\\end\{aligned\}", re.DOTALL)
_EMPTY_HEAD = re.compile(r"<th([^>]*)></th>")
_FORMULAS = re.compile(r"\n## Formulas\n.*", re.DOTALL)  # the list of the files with the formulas of the census


def reference_files(options: SiteOptions, only: Collection[str] | None = None) -> Iterator[SiteFile]:
    """Yield the reference pages: published formulas and numbers, corrections, rule sets, the alphabet and the census.

    Parameters
    ----------
    options
        The options of the site.
    only
        The names of the pages; by default all.

    """
    targets = None if options.targets is None else {*options.targets}
    paths = frozenset(each.path for each in atlas_targets() if targets is None or each.name in targets)
    for name, made in PAGES.items():
        if only is None or name in only:
            yield from (divided_pages if name in DIVIDED else _single_page)(name, made(), options, paths)
    if only is None or "census" in only:
        first, *others = (_FORMULAS.sub("\n", overview(name, title, heads)) for name, (title, heads) in CENSUS.items())
        yield reference_page("census", "\n".join([first, *others]), options, paths)


def reference_page(name: str, source: str, options: SiteOptions, paths: Collection[str]) -> SiteFile:
    """Return a page that is written in Markdown.

    Parameters
    ----------
    name
        The name of the page.
    source
        Its text, with a heading at the start.
    options
        The options of the site.
    paths
        The paths of the pages of models, to which links lead.

    """
    title, rest = _titled(html_of(source, paths))
    return _page(name, title, rest, options, contents=[ReferenceSection(*each) for each in _SECTION.findall(rest)])


def divided_pages(name: str, source: str, options: SiteOptions, paths: Collection[str]) -> Iterator[SiteFile]:
    """Yield the index of a page that is written in Markdown, and a page for each of its sections.

    The index has the anchors of all sections, so that their addresses on a whole page stay valid.
    """
    title, rest = _titled(html_of(source, paths))
    intro, *parts = re.split(r'(?=<h2 id=")', rest)
    heads = [_SECTION.match(part) for part in parts]
    sections = [ReferenceSection(head[1], head[2], f"{name}-{head[1]}.html") for head in heads if head]
    places = {each.anchor: each.address for each in sections}

    def moved(body: str) -> str:
        return _ANCHORED.sub(lambda each: f'href="{places.get(each[1], each[0][6:-1])}"', body)

    yield _page(name, title, moved(intro), options, contents=sections)
    for place, (section, part) in enumerate(zip(sections, parts, strict=True)):
        around = [("previous", each) for each in sections[max(place - 1, 0) : place]]
        around += [("next", each) for each in sections[place + 1 : place + 2]]
        yield _page(
            section.address.removesuffix(".html"),
            section.words,
            moved(part.partition("</h2>")[2]),
            options,
            above=(f"{name}.html", title),
            around=around,
        )


@dataclass(frozen=True)
class ReferenceSection:
    """A section of a page: its anchor, its title, and the address of its own page if it has one."""

    anchor: str
    title: str  # in HTML
    own: str = ""

    @property
    def words(self) -> str:
        """The title without markup."""
        return str(markup(self.title).striptags())

    @property
    def address(self) -> str:
        """The address for a link from the page."""
        return self.own or f"#{markup(self.anchor).unescape()}"


def _single_page(name: str, source: str, options: SiteOptions, paths: Collection[str]) -> Iterator[SiteFile]:
    yield reference_page(name, source, options, paths)


def _titled(body: str) -> tuple[str, str]:
    """Return the words of the first heading, and the rest of a page."""
    title, _, rest = body.partition("</h1>")
    return str(markup(title.partition(">")[2]).striptags()), rest


def _page(
    name: str,
    words: str,
    rest: str,
    options: SiteOptions,
    *,
    contents: Sequence[ReferenceSection] = (),
    above: tuple[str, str] | None = None,
    around: Sequence[tuple[str, ReferenceSection]] = (),
) -> SiteFile:
    """Return a page with a title and a body in HTML.

    Parameters
    ----------
    name, words, rest
        The name of its file, its title, and its body.
    options
        The options of the site.
    contents
        Its sections.
    above
        The address and the title of the index that it belongs to.
    around
        The sections before and after it, each with "previous" or "next".

    """
    first = re.search(r"<p>(.*?)</p>", rest, re.DOTALL)
    about = markup(first[1]).striptags() if first else words
    whole = f"{words} · {above[1]}" if above else words
    return site_page(
        "reference.html.jinja",
        f"{FOLDER}/{name}.html",
        "atlas",
        options=options,
        metadata=Metadata(f"{whole} · symformer", about if len(about) <= 300 else f"{about[:299]}…"),
        heading=words,
        body=markup(rest.strip()),
        contents=contents,
        above=above,
        around=around,
    )


def html_of(source: str, paths: Collection[str]) -> str:
    """Return Markdown as HTML, with formulas as MathML, anchors as on GitHub, and links to the pages of the site."""
    formulas: list[str] = []

    def kept(found: str) -> str:
        formulas.append(found)
        return f"\ue000{len(formulas) - 1}\ue001"

    text = _DISPLAY.sub(lambda each: "\n" + kept(_displayed(each[1])) + "\n", source)
    text = _INLINE.sub(lambda each: kept(_breaking(each[1])), text)
    made = str(_markdown().render(text))
    made = _HEADING.sub(_anchored({}), made)
    made = _LINK.sub(lambda each: _link(each, paths), made)
    made = made.replace("<table>", '<div class="table long" role="group" aria-label="Table" tabindex="0">\n<table>')
    made = made.replace("</table>", "</table>\n</div>")
    made = _EMPTY_HEAD.sub(r"<td\1></td>", made).replace("<th>", '<th scope="col">')
    made = re.sub(r' style="text-align:(right|left|center)"', r' class="\1"', made)
    made = re.sub("<p>(\ue000[0-9]+\ue001)</p>", r"\1", made)  # a displayed formula is not in a paragraph
    return _PLACE.sub(lambda each: formulas[int(each[1])], made)


def check_converter() -> None:
    """Raise SiteError if a package that the conversion needs is missing."""
    if any(find_spec(name) is None for name in ("markdown_it", "latex2mathml")):
        raise SiteError("the reference pages of the site need two more packages; run `pip install 'symformer[site]'`")


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _math(source: str) -> str:
    """Return LaTeX as MathML, without rows of a single sign, and with each number as one sign."""
    from latex2mathml.converter import convert

    made = str(convert(source)).replace(' xmlns="http://www.w3.org/1998/Math/MathML" display="inline"', "", 1)
    made = _ROW.sub(r"\1", _ENTITY.sub(lambda each: str(escape(chr(int(each[1], 16)))), made))
    while (joined := _THOUSANDS.sub(r"\1,\2", made)) != made:
        made = joined
    return made


def _breaking(source: str) -> str:
    """Return LaTeX as MathML that a line can break before each term of the sum.

    >>> _terms("a + (b - c)")
    ['a', '+ (b - c)']
    """
    first, *others = map(_math, _terms(source))
    return "<wbr>".join([first, *(each.replace("<mo>", '<mo form="infix">', 1) for each in others)])


def _terms(source: str) -> list[str]:
    """Return the terms of a sum in LaTeX, each with its sign."""
    depth, start, found = 0, 0, list[str]()
    for place, character in enumerate(source):
        depth += (character in "{(") - (character in "})")
        if depth == 0 and place and source[place - 1 : place + 2] in (" + ", " - ") and r"\left" not in source:
            found.append(source[start:place].strip())
            start = place
    return [*found, source[start:].strip()]


def _displayed(source: str) -> str:
    """Return a displayed formula, one line of the page for each row."""
    found = _ALIGNED.search(source)
    rows = re.split(r"\\\\\s*\n", found[1].strip()) if found else [source]
    lines = [_math(row.replace("&", " ").strip()).replace("<math", '<math displaystyle="true"', 1) for row in rows]
    body = "".join(f"<div>{line}</div>" for line in lines)
    return f'<div class="displayed" tabindex="0" role="group" aria-label="Formula">{body}</div>'


def _anchored(taken: dict[str, int]) -> Callable[[re.Match[str]], str]:
    """Return a function that adds the anchor of a heading, with a number if an earlier heading has the same."""

    def heading(found: re.Match[str]) -> str:
        level, words = found[1], found[2]
        if level == "1" and not taken:
            taken[""] = 1
            return found[0]
        level = str(max(int(level), 2))
        name = anchor(markup(words).striptags())
        count = taken.get(name, 0)
        taken[name] = count + 1
        own = escape(f"{name}-{count}" if count else name)
        here = f'<a class="here" href="#{own}" aria-label="Link to this section">#</a>'
        return f'<h{level} id="{own}">{words} {here}</h{level}>'

    return heading


def _link(found: re.Match[str], paths: Collection[str]) -> str:
    """Return a link to a page of the site, or its words alone where the site has no such page."""
    address, place, words = found[1], found[2] or "", found[3]
    name = address.removesuffix(".md")
    if not name:
        return found[0]
    if name == "README":
        return f'<a href="../index.html">{words}</a>'
    if name in PAGES or name == "census":
        return f'<a href="{name}.html{place}">{words}</a>'
    path = AtlasTarget(name if name in names() else f"{HF}{markup(words).striptags()}", "class").path
    return f'<a href="../{path}">{words}</a>' if path in paths else words
