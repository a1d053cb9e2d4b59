"""The blocks of a document as a part of a page of the site, which has its own frame and style sheet."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from ...output.blocks import Block, Document
from .base_language import environment
from .html import HTML, markup
from .page_layout import is_tall
from .short_mathml import with_short_math

CONTENT = "content"  # the block of the template of derivations that prints the blocks of a document


class SitePage(HTML):
    """The blocks of derivations in HTML, without the head of the page, its style and its scripts."""

    def body(self, blocks: Sequence[Block]) -> Markup:
        """Return blocks as the template of derivations prints them; each equation and heading has its anchor."""
        template = environment().get_template(self.template)
        document = self.prepared(Document("", "", blocks))
        context = template.new_context({"document": document, "language": self, "page": self.page, "tall": is_tall})
        return markup(with_short_math("".join(template.blocks[CONTENT](context)).strip()))


FORMAT = SitePage()
