"""The blocks of a document as a part of a page of the site, which has its own frame and style sheet."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from ...output.blocks import Block, Document, FigureBlock
from .base_language import environment
from .html import HTML, markup
from .inline_svg import svg_element
from .page_layout import is_tall
from .short_mathml import with_short_math

FIGURES = (36_000, 24_000, 12_000)  # bytes of a figure; the smaller for a page that is too large otherwise
CONTENT = "content"  # the block of the template of derivations that prints the blocks of a document


class SitePage(HTML):
    """The blocks of derivations in HTML, without the head of the page, its style and its scripts.

    Attributes
    ----------
    largest
        The number of bytes of a figure from which on it has less detail; None for all detail at any size.

    """

    def __init__(self, largest: int | None = FIGURES[0]) -> None:
        self.largest = largest

    def body(self, blocks: Sequence[Block]) -> Markup:
        """Return blocks as the template of derivations prints them; each equation and heading has its anchor."""
        template = environment().get_template(self.template)
        document = self.prepared(Document("", "", blocks))
        context = template.new_context({"document": document, "language": self, "page": self.page, "tall": is_tall})
        return markup(with_short_math("".join(template.blocks[CONTENT](context)).strip()))

    def picture(self, block: FigureBlock) -> Markup:
        """Return a figure, with less detail if all of it is too large for the page."""
        made = _compact(super().picture(block))
        if self.largest is None or len(made.encode()) <= self.largest or block.overviews is None:
            return made
        for drawing in block.overviews(self.page):
            made = _compact(svg_element(drawing))
            if len(made.encode()) <= self.largest:
                break
        return made


def _compact(drawing: str) -> Markup:
    """Return a drawing without the colour that its shapes inherit from it.

    >>> print(_compact(markup('<svg fill="currentColor"><rect fill="currentColor"/></svg>')))
    <svg fill="currentColor"><rect/></svg>
    """
    return markup(str(drawing).replace(' fill="currentColor"/>', "/>"))


FORMAT = SitePage()
SMALLER = tuple(map(SitePage, FIGURES[1:]))
