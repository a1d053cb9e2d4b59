"""The comparison of any two models of the atlas, by address; a script reads the facts of both."""

from __future__ import annotations

from collections.abc import Iterator

from ..documents.formats.base_language import templates
from .site_file import SiteFile, SiteOptions
from .site_page import Metadata, site_page

DESCRIPTION = (
    "Compare two transformers: their structure, sizes, parameters, FLOPs and memory, exact and in closed form."
)


def comparison_files(options: SiteOptions) -> Iterator[SiteFile]:
    """Yield the page that compares two models, and its script."""
    yield site_page(
        "compare.html.jinja",
        "compare.html",
        "compare",
        options=options,
        current=True,
        policy={"connect-src": ("'self'",)},
        metadata=Metadata("Compare two models · symformer", DESCRIPTION),
    )
    yield SiteFile("assets/compare.js", (templates() / "site" / "compare.js").read_bytes())
