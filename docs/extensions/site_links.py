"""Links that leave the guide, which are written as paths of the repository, so that they also work there.

A page of ``reports/`` that the site has is linked there, and everything else in the repository.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from symformer.documents.gallery_pages import CENSUS
from symformer.site.reference_section import FOLDER, PAGES

REPOSITORY = "https://github.com/symformer/symformer/blob/main/"
# The page of the site for each report. The site has one page for all censuses.
ON_SITE = {**{name: name for name in PAGES}, **dict.fromkeys(CENSUS, "census")}
CONTRIBUTING = "contributing"  # the page that shows CONTRIBUTING.md
SITE = "site:"  # the root of the site, until the place of the page is known


def link_out(app: Sphinx, docname: str, content: list[str]) -> None:
    """Replace the links of a source that leave ``docs``."""
    if docname == CONTRIBUTING:
        content[0] = _contributing(app)
    up = docname.count("/") + 1

    def address(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        report = re.fullmatch(r"reports/([\w-]+)\.md", path)
        if report and report[1] in ON_SITE:
            return f"]({SITE}{FOLDER}/{ON_SITE[report[1]]}.html{anchor})"
        return f"]({REPOSITORY}{path}{anchor})"

    content[0] = re.sub(rf"\]\((?:\.\./){{{up}}}([^)#]+)(#[^)]*)?\)", address, content[0])


def _contributing(app: Sphinx) -> str:
    """Return CONTRIBUTING.md, with its links as from a page of ``docs``."""
    text = (Path(app.srcdir).parent / "CONTRIBUTING.md").read_text("utf-8")
    text += "\n```{toctree}\n:hidden:\n\nreleasing\n```\n"
    return re.sub(r"\]\((?!#|https:)(?:docs/)?", lambda found: "](" if "docs/" in found[0] else "](../", text)


def place(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the addresses on the site relative to the page."""
    root = "../" * (docname.count("/") + 1)
    for node in doctree.findall(nodes.reference):
        address = node.get("refuri", "")
        if address.startswith(SITE):
            node["refuri"] = root + address.removeprefix(SITE)
            node["classes"] = ["site"]


def allow(app: Sphinx, config: Any) -> None:
    """Let Markdown links have the scheme of the site."""
    config.myst_url_schemes = {**config.myst_url_schemes, SITE.removesuffix(":"): None}


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", allow)
    app.connect("source-read", link_out)
    app.connect("doctree-resolved", place)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
