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

LARGEST = 36_000  # bytes of a figure; a page has at most 100 kB
CONTENT = "content"  # the block of the template of derivations that prints the blocks of a document


class SitePage(HTML):
    """The blocks of derivations in HTML, without the head of the page, its style and its scripts."""

    def body(self, blocks: Sequence[Block]) -> Markup:
        """Return blocks as the template of derivations prints them; each equation and heading has its anchor."""
        template = environment().get_template(self.template)
        document = self.prepared(Document("", "", blocks))
        context = template.new_context({"document": document, "language": self, "page": self.page, "tall": is_tall})
        return markup(with_short_math("".join(template.blocks[CONTENT](context)).strip()))

    def picture(self, block: FigureBlock) -> Markup:
        """Return a figure, with less detail if all of it is too large for the page."""
        made = super().picture(block)
        if len(made.encode()) <= LARGEST or block.overviews is None:
            return made
        for drawing in block.overviews(self.page):
            made = markup(svg_element(drawing))
            if len(made.encode()) <= LARGEST:
                break
        return made


FORMAT = SitePage()
